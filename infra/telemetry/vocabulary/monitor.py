"""What the monitor sees of the whole pipeline, and what is done through it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from prometheus_client import Counter, Gauge

from infra.telemetry.event import Event, Level

_LAG = Gauge("odradek_group_lag_records", "Records that a consumer group has still to do.", ["group", "topic"])
_MEMBERS = Gauge("odradek_group_members", "Members of a consumer group.", ["group"])
_WORKERS = Gauge("odradek_workers", "Workers by stage and by how they are: alive, late.", ["stage", "state"])
_RECORDS = Gauge("odradek_topic_records", "Records between the first and the last offset of a topic.", ["topic"])
_QUEUED = Gauge("odradek_frontier_queued_urls", "URLs that wait in the frontier.")
_LEASED = Gauge("odradek_frontier_leased_requests", "Requests that are out.")
_HOSTS = Gauge("odradek_frontier_hosts", "Hosts that the frontier has in memory.")
_OUTBOX = Gauge("odradek_frontier_outbox_transactions", "Transactions of which the broker does not have all yet.")
_FINDINGS = Gauge("odradek_findings", "What the monitor finds wrong now, by kind.", ["kind"])
_DISK = Gauge("odradek_disk_free_ratio", "Share of a file system that is free, by what lies on it.", ["what"])
_FRESH = Gauge(
    "odradek_fetch_to_row_seconds",
    "From the fetch to the row, since the sinks began: the slowest worker's quantiles.",
    ["quantile"],
)
_ROBOTS = Gauge("odradek_frontier_waiting_robots", "Requests for a robots.txt that are out; their hosts wait.")
_FRONTIER = {"queued": _QUEUED, "leased": _LEASED, "hosts": _HOSTS, "outbox": _OUTBOX, "waiting_robots": _ROBOTS}
_AVAILABLE = Gauge("odradek_pipeline_available", "1 while every stage has a living worker that takes work.")
_LOOK_AT = Gauge("odradek_monitor_look_timestamp_seconds", "When the monitor looked last with success.")
_FAILED = Counter("odradek_monitor_looks_failed_total", "Looks that Kafka did not answer.")
_REFUSED = Counter("odradek_monitor_requests_refused_total", "Requests that were not allowed, by why.", ["why"])
_ORDERS = Counter("odradek_orders_total", "Orders that were given or taken back here.", ["action", "what"])


@dataclass(frozen=True, slots=True)
class Looked(Event):
    """The monitor has looked at everything. Group names come from the settings, the rest from closed sets."""

    level: ClassVar[Level | None] = None
    name: ClassVar[str] = "looked"
    at_s: float
    lag: Mapping[str, Mapping[str, int]]
    members: Mapping[str, int]
    workers: Mapping[tuple[str, str], int]
    """Counts by stage and state."""
    records: Mapping[str, int]
    frontier: Mapping[str, int]
    findings: Mapping[str, int]
    disk_free: Mapping[str, float]
    fetch_to_row_s: Mapping[str, float]
    """By quantile."""
    available: bool

    def measure(self) -> None:
        for group, topics in self.lag.items():
            for topic, behind in topics.items():
                _LAG.labels(group, topic).set(behind)
        for group, count in self.members.items():
            _MEMBERS.labels(group).set(count)
        for gauge, values in (
            (_RECORDS, self.records),
            (_FINDINGS, self.findings),
            (_DISK, self.disk_free),
            (_FRESH, self.fetch_to_row_s),
        ):
            for label, value in values.items():
                gauge.labels(label).set(value)
        for (stage, state), count in self.workers.items():
            _WORKERS.labels(stage, state).set(count)
        for figure, gauge in _FRONTIER.items():
            gauge.set(self.frontier.get(figure, 0))
        _AVAILABLE.set(self.available)
        _LOOK_AT.set(self.at_s)


@dataclass(frozen=True, slots=True)
class LookFailed(Event):
    """Kafka did not answer; what was seen before stays on the page, with its age."""

    level: ClassVar[Level | None] = "warning"
    name: ClassVar[str] = "look failed"
    attempt: int
    wait_s: float
    error: str

    def measure(self) -> None:
        _FAILED.inc()


@dataclass(frozen=True, slots=True)
class PageServed(Event):
    """The page can be opened."""

    name: ClassVar[str] = "monitor serves its page"
    url: str


@dataclass(frozen=True, slots=True)
class RequestRefused(Event):
    """Somebody asked for what is not theirs to ask."""

    level: ClassVar[Level | None] = "warning"
    name: ClassVar[str] = "request refused"
    why: str
    method: str
    path: str
    peer: str

    def measure(self) -> None:
        _REFUSED.labels(self.why).inc()


@dataclass(frozen=True, slots=True)
class OrderGiven(Event):
    """An order is in force; the record of ``control`` says the same."""

    name: ClassVar[str] = "order given"
    action: str
    subject: str
    target: str
    amount: float | None
    by: str

    def measure(self) -> None:
        _ORDERS.labels(self.action, "given").inc()


@dataclass(frozen=True, slots=True)
class OrderWithdrawn(Event):
    """An order was taken back."""

    name: ClassVar[str] = "order taken back"
    action: str
    subject: str
    target: str
    by: str

    def measure(self) -> None:
        _ORDERS.labels(self.action, "withdrawn").inc()
