"""Which settings may change while a process runs, and what a changed file means for one that does. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from infra.settings import Settings

Place = tuple[str, ...]

LIVE: Mapping[str, frozenset[str]] = {
    "": frozenset({"log_level"}),
    "frontier": frozenset(
        {
            *("attempts", "backoff_longest", "backoff_shortest", "delay", "give_up_host_after", "longest_crawl_delay"),
            *("longest_retry_after", "max_hops", "per_host", "robots_fresh", "robots_hops", "uncounted_attempts"),
        }
    ),
    "fetchers": frozenset(
        {
            *("blocked_names", "blocked_ports", "head_timeout", "max_body_kib", "media", "media_types"),
            *("min_rate_bytes_s", "rate_grace", "total_timeout"),
        }
    ),
    "monitor": frozenset({"history", "late_after", "look_every"}),
}
"""By group. What is not named here is built into connections, files and threads when a process starts."""


def is_live(place: Place) -> bool:
    """Whether a change of the setting takes effect while a process runs."""
    if len(place) == 1:
        return place[0] in LIVE[""]
    return place[1] in LIVE.get(place[0], ())


def leaves(group: BaseModel, at: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every setting with its place, in the order of the tree."""
    for name in type(group).model_fields:
        value = getattr(group, name, None)
        if isinstance(value, BaseModel):
            yield from leaves(value, (*at, name))
        else:
            yield (*at, name), value


class Change(NamedTuple):
    """What a valid file means for a process that runs with other settings."""

    settings: Settings
    """The running ones, with what may change as the file has it."""
    applied: list[str]
    """Names of what changes."""
    needs_restart: list[str]
    """Names of what the file has otherwise, but that stays as it is until a restart."""


def change(running: Settings, wanted: Settings) -> Change:
    """From the settings of a running process, and all of those that a start would have now."""
    before = dict(leaves(running))
    different = [place for place, value in leaves(wanted) if before.get(place) != value]
    merged: dict[str, Any] = {}
    for group, names in LIVE.items():
        new, old = (wanted, running) if not group else (getattr(wanted, group), getattr(running, group))
        update = {name: getattr(new, name) for name in names}
        merged |= {group: old.model_copy(update=update)} if group else update
    return Change(
        running.model_copy(update=merged),
        [".".join(place) for place in different if is_live(place)],
        [".".join(place) for place in different if not is_live(place)],
    )
