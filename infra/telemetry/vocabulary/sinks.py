"""What happens in the sinks."""

from dataclasses import dataclass
from typing import ClassVar

from prometheus_client import Counter, Gauge, Histogram

from infra.telemetry.event import Event, Level

_ROWS = Counter("odradek_sink_rows_total", "Rows written; repeats count again.", ["store", "table"])
_BYTES = Counter("odradek_sink_bytes_total", "Bytes of the records written, as Kafka has them.", ["store", "table"])
_STOPPED = Counter("odradek_sink_stopped_total", "Times that a store could not be fed any more.", ["store"])
_LEFT_ALONE = Gauge("odradek_sink_left_alone", "1 while a store that failed is left alone, else 0.", ["store"])
_WRITE = Histogram(
    "odradek_sink_write_seconds",
    "Time of one write.",
    ["store", "table"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
_UNREACHABLE = Counter("odradek_store_unreachable_total", "Times that a store could not be opened.", ["store"])


@dataclass(frozen=True, slots=True)
class StoreOpened(Event):
    """A store is ready for rows."""

    name: ClassVar[str] = "store opened"
    where: str


@dataclass(frozen=True, slots=True)
class StoreUnreachable(Event):
    """A store cannot be opened now; it is tried again."""

    level: ClassVar[Level | None] = "warning"
    name: ClassVar[str] = "store unreachable"
    store: str
    wait_s: float
    error: str

    def measure(self) -> None:
        _UNREACHABLE.labels(self.store).inc()


@dataclass(frozen=True, slots=True)
class StoreNotDurable(Event):
    """What a store takes would not survive its crash."""

    level: ClassVar[Level | None] = "warning"
    name: ClassVar[str] = "store forgets what it takes when it crashes"
    where: str
    remedy: str


@dataclass(frozen=True, slots=True)
class StoreAdded(Event):
    """A store is fed from now on."""

    name: ClassVar[str] = "store added"
    store: str


@dataclass(frozen=True, slots=True)
class StoreRemoved(Event):
    """A store is fed no more, since it is not wanted any more; its group's offsets stay."""

    name: ClassVar[str] = "store removed"
    store: str


@dataclass(frozen=True, slots=True)
class StoreStopped(Event):
    """A store cannot be fed; the others go on, and it is tried again."""

    level: ClassVar[Level | None] = "error"
    name: ClassVar[str] = "store stopped"
    store: str
    wait_s: float
    error: str

    def measure(self) -> None:
        _STOPPED.labels(self.store).inc()


@dataclass(frozen=True, slots=True)
class StoresRefused(Event):
    """The stores that somebody wants now are refused; those before stay."""

    level: ClassVar[Level | None] = "error"
    name: ClassVar[str] = "stores refused, the old ones stay"
    error: str


@dataclass(frozen=True, slots=True)
class SchemaMigrated(Event):
    """A store's schema was brought up to date."""

    name: ClassVar[str] = "schema migrated"
    applied: list[str]


@dataclass(frozen=True, slots=True)
class DoorOpened(Event):
    """The embedded engine can be asked over HTTP."""

    name: ClassVar[str] = "embedded ClickHouse serves readers"
    url: str


@dataclass(frozen=True, slots=True)
class RowsWritten(Event):
    """A write of rows succeeded."""

    level: ClassVar[Level | None] = "debug"
    name: ClassVar[str] = "rows written"
    store: str
    table: str
    rows: int
    size_bytes: int
    took_s: float

    def measure(self) -> None:
        # There from the first write, so that it can be seen to change; it is set nowhere here.
        _LEFT_ALONE.labels(self.store)
        _ROWS.labels(self.store, self.table).inc(self.rows)
        _BYTES.labels(self.store, self.table).inc(self.size_bytes)
        _WRITE.labels(self.store, self.table).observe(self.took_s)


@dataclass(frozen=True, slots=True)
class StoreLeftAlone(Event):
    """Write after write failed: no more are tried for a while."""

    level: ClassVar[Level | None] = "warning"
    name: ClassVar[str] = "store left alone"
    store: str
    wait_s: float
    error: str

    def measure(self) -> None:
        _LEFT_ALONE.labels(self.store).set(1)


@dataclass(frozen=True, slots=True)
class StoreIsBack(Event):
    """A store that was left alone takes rows again."""

    name: ClassVar[str] = "store is back"
    store: str

    def measure(self) -> None:
        _LEFT_ALONE.labels(self.store).set(0)
