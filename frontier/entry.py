"""One URL as the frontier keeps it, and its bytes for the store and the changelog."""

import json
from enum import StrEnum
from hashlib import blake2b
from typing import NamedTuple

from frontier.revisit import Past
from schemas.records import Kind

_COMPACT = json.JSONEncoder(separators=(",", ":"))
"""Made once: every URL is packed several times in its life."""


class Fate(StrEnum):
    """How a URL's visit ended, for the counts."""

    PAGE = "pages"
    ERROR = "errors"
    REFUSED = "refused"
    MOVED = "moved"
    SITEMAP = "sitemaps"


class Lane(StrEnum):
    """Why a URL waits: each lane of a crawl has its share of a host's turns."""

    FRESH = "fresh"
    RETRY = "retry"
    RECRAWL = "recrawl"
    BULK = "bulk"


class Entry(NamedTuple):
    """A URL that waits or is being fetched. ``due_s`` is the earliest time by :class:`frontier.clock.Clock`.

    Within its lane the earlier due goes first, then the lower ``rank`` (see :func:`rank`), then the older.
    """

    fingerprint: bytes
    crawl: str
    url: str
    host: str
    depth: int
    hops: int
    parent: str | None
    visit: int
    attempt: int
    due_s: float
    trace_id: str | None
    lane: Lane = Lane.FRESH
    rank: int = 0
    uncounted: int = 0
    """Attempts among :attr:`attempt` that count against no limit of attempts."""
    browser: bool = False
    """Whether it takes a browser to get the page."""
    kind: Kind = Kind.PAGE
    past: Past | None = None
    """What the visits before this one have told."""

    def pack(self) -> bytes:
        """All but the fingerprint, which is the key wherever this is kept, and but what nearly all have in common."""
        return _COMPACT.encode(self[1:_RARE] if self[_RARE:] == _USUAL else self[1:]).encode()

    @property
    def lease(self) -> str:
        """The name of the permission to try this attempt: the same whoever computes it."""
        return f"{self.fingerprint.hex()}.{self.visit}.{self.attempt}"

    def next_visit(self, past: Past, due_s: float) -> "Entry":
        """Of the same URL."""
        return self._replace(
            visit=self.visit + 1, attempt=0, uncounted=0, due_s=due_s, lane=Lane.RECRAWL, trace_id=None, past=past
        )

    @property
    def counted(self) -> int:
        """Attempts that count, this one not among them."""
        return self.attempt - self.uncounted


_RARE = Entry._fields.index("uncounted")
"""Where the fields begin that differ from their defaults in few entries."""
_USUAL = tuple(Entry._field_defaults[name] for name in Entry._fields[_RARE:])
_KIND = Entry._fields.index("kind") - 1
_KINDS = {kind.value: kind for kind in Kind}
_READ = json.JSONDecoder().decode
_LANE = Entry._fields.index("lane") - 1
_LANES = {lane.value: lane for lane in Lane}


def unpack(fingerprint: bytes, packed: bytes) -> Entry:
    """The entry that was packed."""
    fields = _READ(packed.decode())
    fields[_LANE] = _LANES[fields[_LANE]]
    if len(fields) > _KIND:
        fields[_KIND] = _KINDS[fields[_KIND]]
        fields[_KIND + 1] = fields[_KIND + 1] and Past(*fields[_KIND + 1])
    return Entry(fingerprint, *fields)


def rank(depth: int, priority: int) -> int:
    """What is nearer to a seed goes first; ten steps are worth one step of priority, which counts the other way."""
    return depth - 10 * priority


def fingerprint(crawl: str, url: str) -> bytes:
    """16 bytes that stand for a URL in a crawl: the seen set holds these and nothing else of what is done."""
    return blake2b(f"{crawl}\0{url}".encode(), digest_size=16).digest()
