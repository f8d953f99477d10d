"""When a page is visited again, and what is remembered of it until then. Pure.

Whether a page changes often is learned from the page: the time to the next visit becomes shorter when a visit found it
changed and longer when not, by factors, within bounds. That is changed whose body is another one; not changed what the
server says so of (304) or whose body is the same. A body that was cut tells nothing.
"""

from email.utils import parsedate_to_datetime
from typing import NamedTuple

from infra.settings import RevisitSettings
from schemas.outcomes import Outcome
from schemas.records import Fetch

MOST_VALIDATOR_CHARS = 500
"""A longer one is not kept; the page is read as a whole then."""
_OF_ITS_AGE = 0.1
"""What caches take for as long as they may, of a page that does not say (RFC 9111, 4.2.2)."""
_SPREAD = 0.1


class Past(NamedTuple):
    """What the visits before have told."""

    fetched_s: int
    """When it was had the last time."""
    interval_s: int
    body: str | None
    """Hash of the body, in hex."""
    etag: str | None
    last_modified: str | None
    misses: int = 0
    """Visits in a row that did not get it any more."""


def visited(past: Past | None, fetch: Fetch, now_s: float, settings: RevisitSettings) -> Past:
    """After a visit that got the page, or heard that it is as it was."""
    is_same = fetch.outcome is Outcome.NOT_MODIFIED
    body = None if fetch.body_hash is None else fetch.body_hash.hex()
    if past is None:
        interval_s = _first_s(fetch, now_s, settings)
    else:
        interval_s = _next_s(past.interval_s, _has_changed(past, body, is_same=is_same), settings)
    known = past if is_same else None
    return Past(
        int(now_s),
        round(interval_s),
        known.body if known else body,
        _short(fetch.etag) or (known.etag if known else None),
        _short(fetch.last_modified) or (known.last_modified if known else None),
    )


def missed(past: Past, settings: RevisitSettings) -> Past | None:
    """After a visit that did not get the page; ``None`` when there is no use in another one."""
    if past.misses + 1 >= settings.misses:
        return None
    interval_s = _next_s(past.interval_s, False, settings)
    return past._replace(interval_s=round(interval_s), misses=past.misses + 1)


def due_s(past: Past, now_s: float, dice: float) -> float:
    """When it is time; ``dice`` in [0, 1) spreads what was found together."""
    return now_s + past.interval_s * (1 + _SPREAD * dice)


def _has_changed(past: Past, body: str | None, *, is_same: bool) -> bool | None:
    """``None``: nobody knows."""
    if is_same:
        return False
    return None if body is None or past.body is None else body != past.body


def _next_s(interval_s: float, changed: bool | None, settings: RevisitSettings) -> float:
    factor = 1.0 if changed is None else settings.shorten if changed else settings.lengthen
    return _within(interval_s * factor, settings)


def _first_s(fetch: Fetch, now_s: float, settings: RevisitSettings) -> float:
    try:
        modified_s = parsedate_to_datetime(fetch.last_modified or "").timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return settings.first.total_seconds()
    return _within((now_s - modified_s) * _OF_ITS_AGE, settings)


def _within(interval_s: float, settings: RevisitSettings) -> float:
    return min(max(interval_s, settings.shortest.total_seconds()), settings.longest.total_seconds())


def _short(validator: str | None) -> str | None:
    return validator if validator and len(validator) <= MOST_VALIDATOR_CHARS else None
