"""Figures of hosts from their fetches: bounded, those not heard of longest are forgotten first. Pure."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from heapq import nlargest

from monitor.rates import WELL
from schemas.outcomes import Outcome
from schemas.records import Fetch, Kind

_NEW = 0.2
"""Weight of the newest answer in a host's mean."""


@dataclass(slots=True)
class HostFigures:
    """One host, since the monitor began to look."""

    name: str
    fetches: int = 0
    pages: int = 0
    errors: int = 0
    body_bytes: int = 0
    mean_s: float = 0.0
    """From request to last byte, the newest counting most."""
    last_outcome: Outcome = Outcome.UNKNOWN
    last_status: int | None = None
    last_error: str | None = None
    last_at: datetime | None = None

    def add(self, fetch: Fetch) -> None:
        """Count one attempt."""
        took_s = fetch.total_ms / 1000
        self.mean_s = took_s if not self.fetches else self.mean_s + _NEW * (took_s - self.mean_s)
        self.fetches += 1
        self.pages += fetch.outcome is Outcome.OK and fetch.kind is Kind.PAGE
        self.errors += fetch.outcome not in WELL
        self.body_bytes += fetch.body_bytes
        self.last_outcome, self.last_status, self.last_at = fetch.outcome, fetch.status, fetch.started_at
        if fetch.error:
            self.last_error = fetch.error


class HostTable:
    """All hosts, up to ``most``."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._hosts: OrderedDict[str, HostFigures] = OrderedDict()

    def __len__(self) -> int:
        return len(self._hosts)

    def add(self, fetch: Fetch) -> None:
        """Count one attempt."""
        figures = self._hosts.get(fetch.host)
        if figures is None:
            figures = self._hosts[fetch.host] = HostFigures(fetch.host)
            if len(self._hosts) > self._most:
                self._hosts.popitem(last=False)
        else:
            self._hosts.move_to_end(fetch.host)
        figures.add(fetch)

    def get(self, name: str) -> HostFigures | None:
        """The host, if it was heard of."""
        return self._hosts.get(name)

    def found(self, search: str, limit: int) -> list[HostFigures]:
        """Of the hosts whose names hold ``search``, the ``limit`` that were asked most."""
        holding: Iterable[HostFigures] = (each for name, each in self._hosts.items() if search in name)
        return nlargest(limit, holding, key=lambda each: each.fetches)

    def slowest(self, limit: int, heard: int = 3) -> list[HostFigures]:
        """Those that take longest to answer, of the last thousand heard of and asked at least ``heard`` times."""
        recent = (self._hosts[name] for name, _ in zip(reversed(self._hosts), range(1_000), strict=False))
        return nlargest(limit, (each for each in recent if each.fetches >= heard), key=lambda each: each.mean_s)
