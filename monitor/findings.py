"""What a diagnosis is made from, and what it is made of. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from monitor.hosts import HostTable
from monitor.letters import Letters
from monitor.look import Look
from monitor.picture import Picture
from schemas.orders import Order

Kind = Literal[
    "dead_letters",
    "disk",
    "error_rate",
    "hosts_in_trouble",
    "lag_growing",
    "no_progress",
    "one_host",
    "paused",
    "sink_down",
    "stage_missing",
    "worker_late",
]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Busy(NamedTuple):
    """A host with work, as its frontier tells it."""

    host: str
    queued: int
    outstanding: int
    delay_s: float
    wait_s: float
    failures: int
    robots_failures: int
    given_up: str | None


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or explains why less happens than could."""

    kind: Kind
    severe: bool
    title: str
    text: str
    advice: str
    view: str
    """Where the page shows more: ``hosts?search=a.test``."""


@dataclass(frozen=True)
class Case:
    """All that a diagnosis looks at."""

    look: Look
    picture: Picture
    hosts: HostTable
    busy: Sequence[Busy]
    letters: Letters
    orders: Iterable[Order]


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """How many of each kind, those of none included: a gauge that vanishes cannot fall."""
    found: dict[str, int] = dict.fromkeys(KINDS, 0)
    for finding in findings:
        found[finding.kind] += 1
    return found
