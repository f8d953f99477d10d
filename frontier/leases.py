"""Permissions to fetch that are out, and which of them are lost."""

import json
from dataclasses import dataclass

from frontier.entry import Entry, fingerprint, unpack
from infra.kafka.topics import TopicName
from schemas.records import Kind

_ROBOTS = "robots/"
RELEASED_TO = (TopicName.URLS, TopicName.RENDERS)
"""What takes no browser, and what does."""


@dataclass(slots=True)
class Lease:
    """One request that was released. ``entry`` is ``None`` for a robots.txt."""

    host: str
    entry: Entry | None
    origin: str
    hops: int
    released_s: float

    @property
    def kind(self) -> Kind:
        """What was asked for."""
        return Kind.ROBOTS if self.entry is None else self.entry.kind

    @property
    def topic(self) -> TopicName:
        """Where it was released to."""
        return destination(self.entry)

    def pack(self) -> bytes:
        """For the store. A page's lease is its entry."""
        if self.entry is not None:
            return self.entry.pack()
        return json.dumps([self.origin, self.hops], separators=(",", ":")).encode()


def destination(entry: Entry | None) -> TopicName:
    """Where permission to fetch is released to; ``None`` stands for a robots.txt."""
    return TopicName.RENDERS if entry is not None and entry.browser else TopicName.URLS


def robots_lease(origin: str, now_s: float) -> str:
    """The name of a permission to ask for a robots.txt: one for each time it is asked for."""
    return f"{_ROBOTS}{fingerprint(origin, str(now_s)).hex()}"


def unpack_lease(name: str, host: str, packed: bytes, now_s: float) -> Lease:
    """The lease that was packed; its time begins anew."""
    if name.startswith(_ROBOTS):
        origin, hops = json.loads(packed)
        return Lease(host, None, origin, hops, now_s)
    entry = unpack(bytes.fromhex(name.partition(".")[0]), packed)
    return Lease(host, entry, "", entry.hops, now_s)


def is_lost(lease: Lease, now_s: float, passed_s: float, timeout_s: float) -> bool:
    """Whether nobody will ever answer: it is old, and the fetchers have committed what was released by ``passed_s``.

    What waits in ``urls`` because no fetcher runs is not lost, however old it is.
    """
    return lease.released_s < passed_s and now_s - lease.released_s >= timeout_s


@dataclass(slots=True)
class Watch:
    """How far the search for lost leases is. Each step waits for somebody, none of them is waited for.

    What was released before ``at_s`` is in ``urls`` once the bundles up to ``bundle`` are paid; so it stands before
    ``end``. When the fetchers have committed ``end``, its results are in ``fetches``, before ``answers``. When those
    have been read too and a lease is still out, nobody will ever end it. The same holds for ``renders``, with a watch
    of its own: renderers that are late, or not there, hold up no search among the fetchers.
    """

    at_s: float | None = None
    bundle: int = 0
    end: int | None = None
    answers: int | None = None

    def begin(self, now_s: float, bundle: int) -> None:
        """A search begins."""
        self.at_s, self.bundle, self.end, self.answers = now_s, bundle, None, None

    def stop(self) -> None:
        """It has ended."""
        self.at_s = None
