"""Permissions to fetch that are out, and which of them are lost."""

import json
from dataclasses import dataclass

from frontier.entry import Entry, fingerprint, unpack
from schemas.records import Kind

_ROBOTS = "robots/"


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
        return Kind.ROBOTS if self.entry is None else Kind.PAGE

    def pack(self) -> bytes:
        """For the store. A page's lease is its entry."""
        if self.entry is not None:
            return self.entry.pack()
        return json.dumps([self.origin, self.hops], separators=(",", ":")).encode()


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
