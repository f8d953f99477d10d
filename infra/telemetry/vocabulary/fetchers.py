"""What happens in the fetchers."""

from dataclasses import dataclass
from typing import ClassVar

from prometheus_client import Counter, Gauge, Histogram

from infra.telemetry.event import Event, Level
from schemas.outcomes import Outcome
from schemas.records import Cut

_FETCHES = Counter("odradek_fetches_total", "Attempts to fetch a URL, by how they ended.", ["outcome"])
_BYTES = Counter("odradek_fetched_bytes_total", "Bytes of bodies as they came over the wire.")
_CUTS = Counter("odradek_cut_bodies_total", "Bodies shorter than the server meant them to be.", ["why"])
_SECONDS = Histogram(
    "odradek_fetch_seconds",
    "From the start of a request to the last byte.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60),
)
_PARTITIONS = Gauge("odradek_fetcher_partitions", "Partitions of urls that this worker owns.")
_ABORTED = Counter(
    "odradek_aborted_fetches_total", "Requests given up unfinished; another worker repeats them.", ["why"]
)
_OPENED = Counter("odradek_connections_opened_total", "Connections that were opened, by how they are used.", ["tier"])
_OPENING = Histogram(
    "odradek_connection_seconds",
    "What opening a connection took, by step.",
    ["step"],
    buckets=(0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 3, 10),
)

# What is there from the start can be seen to grow: a counter that appears with its first count has no rate for it.
for _outcome in Outcome:
    _FETCHES.labels(_outcome)
for _cut in Cut:
    _CUTS.labels(_cut)
for _tier in ("persistent", "temporary", "standby"):
    _OPENED.labels(_tier)
for _step in ("dns", "connect", "tls"):
    _OPENING.labels(_step)


@dataclass(frozen=True, slots=True)
class ConnectionOpened(Event):
    """A connection was opened; ``tier`` is ``persistent``, ``temporary`` or ``standby``."""

    level: ClassVar[Level | None] = None
    name: ClassVar[str] = "connection opened"
    tier: str
    dns_s: float | None
    connect_s: float | None
    tls_s: float | None

    def measure(self) -> None:
        _OPENED.labels(self.tier).inc()
        for step, took_s in (("dns", self.dns_s), ("connect", self.connect_s), ("tls", self.tls_s)):
            if took_s is not None:
                _OPENING.labels(step).observe(took_s)


_PROXY_FAILURES = Counter(
    "odradek_proxy_failures_total", "Failures of proxies; resting after as many as are allowed.", ["rests"]
)
for _rests in ("true", "false"):
    _PROXY_FAILURES.labels(_rests)
_PROXIES = Gauge("odradek_proxies", "Proxies of the pool, resting or not.")


@dataclass(frozen=True, slots=True)
class ProxyFailed(Event):
    """A proxy failed; ``rests`` when it is left alone for a while."""

    level: ClassVar[Level | None] = "warning"
    name: ClassVar[str] = "proxy failed"
    proxy: str
    rests: bool
    error: str

    def measure(self) -> None:
        _PROXY_FAILURES.labels(str(self.rests).lower()).inc()


_BYPASSED = Counter("odradek_proxy_bypassed_total", "Requests that went without a proxy because none was fit.")


@dataclass(frozen=True, slots=True)
class ProxyBypassed(Event):
    """No proxy was fit, and the settings say to go without one then."""

    level: ClassVar[Level | None] = "warning"
    name: ClassVar[str] = "proxy bypassed"
    host: str

    def measure(self) -> None:
        _BYPASSED.inc()


@dataclass(frozen=True, slots=True)
class ProxiesChanged(Event):
    """The file of proxies was read."""

    name: ClassVar[str] = "proxies changed"
    count: int

    def measure(self) -> None:
        _PROXIES.set(self.count)


@dataclass(frozen=True, slots=True)
class ProxiesRefused(Event):
    """The file of proxies cannot be read; those known before stay."""

    level: ClassVar[Level | None] = "error"
    name: ClassVar[str] = "proxies refused"
    error: str


@dataclass(frozen=True, slots=True)
class UrlFetched(Event):
    """One attempt ended, well or not."""

    level: ClassVar[Level | None] = "debug"
    name: ClassVar[str] = "url fetched"
    url: str
    outcome: Outcome
    status: int | None
    cut: Cut | None
    body_bytes: int
    took_s: float
    error: str | None

    def measure(self) -> None:
        _FETCHES.labels(self.outcome).inc()
        _SECONDS.observe(self.took_s)
        _BYTES.inc(self.body_bytes)
        if self.cut is not None:
            _CUTS.labels(self.cut).inc()


@dataclass(frozen=True, slots=True)
class PageRefused(Event):
    """Kafka will never take the page; its fetch is told as skipped."""

    level: ClassVar[Level | None] = "warning"
    name: ClassVar[str] = "page refused by Kafka"
    url: str
    reason: str
    error: str


_SPOOLED = Counter("odradek_spooled_pages_total", "Pages whose body no Kafka record can hold: it lies in the spool.")


@dataclass(frozen=True, slots=True)
class PageSpooled(Event):
    """Kafka refuses the page; it goes on with its body by reference."""

    name: ClassVar[str] = "page spooled"
    url: str
    body_bytes: int

    def measure(self) -> None:
        _SPOOLED.inc()


_PRUNED = Counter("odradek_pruned_bodies_total", "Bodies in the spool that no record can name any more: deleted.")


@dataclass(frozen=True, slots=True)
class SpoolPruned(Event):
    """Bodies older than the records that could name them were deleted."""

    name: ClassVar[str] = "spool pruned"
    count: int

    def measure(self) -> None:
        _PRUNED.inc(self.count)


@dataclass(frozen=True, slots=True)
class PartitionsChanged(Event):
    """The group gave this worker partitions, or took some away."""

    name: ClassVar[str] = "partitions changed"
    owned: list[int]

    def measure(self) -> None:
        _PARTITIONS.set(len(self.owned))


@dataclass(frozen=True, slots=True)
class FetchesAborted(Event):
    """Requests were given up unfinished: ``revoked`` or ``stopping``."""

    name: ClassVar[str] = "fetches aborted"
    why: str
    count: int

    def measure(self) -> None:
        _ABORTED.labels(self.why).inc(self.count)
