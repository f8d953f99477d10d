"""What happens to URLs and hosts in the frontier."""

from dataclasses import dataclass
from typing import ClassVar

from prometheus_client import Counter

from infra.telemetry.event import Event, Level

_LINKS = Counter("odradek_links_total", "URLs handed to the frontier.", ["known"])
_RELEASED = Counter("odradek_requests_released_total", "Requests released to the fetchers.", ["kind"])
_REFUSED = Counter("odradek_urls_refused_total", "URLs that will not be fetched.", ["reason"])
_VISITS = Counter("odradek_visits_ended_total", "Visits that ended, by their last outcome.", ["outcome"])
_IGNORED = Counter("odradek_results_ignored_total", "Results whose lease was over: repeats.")
_LOST = Counter("odradek_leases_lost_total", "Requests that nobody answered.")
_GIVEN_UP = Counter("odradek_hosts_given_up_total", "Times that a host's whole queue was ended.", ["reason"])

# Looked up once: these move with every page, and the lookup costs more than the count.
_NEW, _KNOWN = _LINKS.labels("no"), _LINKS.labels("yes")
for _reason in ("host_unreachable", "robots_unavailable"):
    _GIVEN_UP.labels(_reason)
_PAGES, _ROBOTS = _RELEASED.labels("page"), _RELEASED.labels("robots")


@dataclass(frozen=True, slots=True)
class LinksAdmitted(Event):
    """A record of links was read."""

    level: ClassVar[Level | None] = None
    name: ClassVar[str] = "links admitted"
    new: int
    known: int

    def measure(self) -> None:
        _NEW.inc(self.new)
        _KNOWN.inc(self.known)


@dataclass(frozen=True, slots=True)
class UrlReleased(Event):
    """A request was released."""

    level: ClassVar[Level | None] = "debug"
    name: ClassVar[str] = "url released"
    url: str
    robots: bool

    def measure(self) -> None:
        (_ROBOTS if self.robots else _PAGES).inc()


@dataclass(frozen=True, slots=True)
class UrlRefused(Event):
    """A URL will not be fetched."""

    level: ClassVar[Level | None] = None
    name: ClassVar[str] = "url refused"
    reason: str

    def measure(self) -> None:
        _REFUSED.labels(self.reason).inc()


@dataclass(frozen=True, slots=True)
class VisitEnded(Event):
    """A visit has its last outcome."""

    level: ClassVar[Level | None] = None
    name: ClassVar[str] = "visit ended"
    outcome: str

    def measure(self) -> None:
        _VISITS.labels(self.outcome).inc()


@dataclass(frozen=True, slots=True)
class ResultIgnored(Event):
    """A result came whose lease was over."""

    level: ClassVar[Level | None] = None
    name: ClassVar[str] = "result ignored"

    def measure(self) -> None:
        _IGNORED.inc()


@dataclass(frozen=True, slots=True)
class LeaseLost(Event):
    """The fetchers have passed a request, and no result came."""

    level: ClassVar[Level | None] = "warning"
    name: ClassVar[str] = "lease lost"
    host: str

    def measure(self) -> None:
        _LOST.inc()


@dataclass(frozen=True, slots=True)
class HostGivenUp(Event):
    """A host does not answer, or its robots.txt cannot be had: what waits for it ends."""

    level: ClassVar[Level | None] = "warning"
    name: ClassVar[str] = "host given up"
    host: str
    reason: str
    urls: int

    def measure(self) -> None:
        _GIVEN_UP.labels(self.reason).inc()


@dataclass(frozen=True, slots=True)
class PartitionOpened(Event):
    """A partition was taken over."""

    name: ClassVar[str] = "partition opened"
    partition: int
    how: str
    changes: int
    queued_hosts: int


@dataclass(frozen=True, slots=True)
class PartitionClosed(Event):
    """A partition was given back."""

    name: ClassVar[str] = "partition closed"
    partition: int
    lost: bool
