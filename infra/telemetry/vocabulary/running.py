"""What happens to every stage, whatever it does."""

from dataclasses import dataclass
from typing import ClassVar

from prometheus_client import Counter, Gauge

from infra.telemetry.event import Event, Level

_RETRIES = Counter("odradek_retries_total", "Batches tried again because something outside was in trouble.", ["stage"])
_DEAD_LETTERS = Counter("odradek_dead_letters_total", "Records that could never succeed.", ["stage", "reason"])
_REPLACED = Counter("odradek_consumers_replaced_total", "Kafka consumers that crashed and were replaced.", ["group"])
_READY = Gauge("odradek_ready", "1 while the stage takes work.")


@dataclass(frozen=True, slots=True)
class StageStarted(Event):
    """A stage begins."""

    name: ClassVar[str] = "stage started"
    stage: str
    worker: str
    health: str


@dataclass(frozen=True, slots=True)
class StageStopping(Event):
    """A stage was asked to stop and drains."""

    name: ClassVar[str] = "stage stopping"
    stage: str
    why: str

    def measure(self) -> None:
        _READY.set(0)


@dataclass(frozen=True, slots=True)
class StageStopped(Event):
    """A stage has ended."""

    name: ClassVar[str] = "stage stopped"
    stage: str
    clean: bool


@dataclass(frozen=True, slots=True)
class StageFailed(Event):
    """A stage cannot go on."""

    level: ClassVar[Level | None] = "error"
    name: ClassVar[str] = "stage failed"
    stage: str
    error: str


@dataclass(frozen=True, slots=True)
class ReadyChanged(Event):
    """A stage takes work, or no longer does."""

    name: ClassVar[str] = "ready changed"
    stage: str
    ready: bool

    def measure(self) -> None:
        _READY.set(self.ready)


@dataclass(frozen=True, slots=True)
class AgentMade(Event):
    """An agent is there; its counter of retries begins, so that the first one can be seen."""

    level: ClassVar[Level | None] = None
    name: ClassVar[str] = "agent made"
    stage: str

    def measure(self) -> None:
        _RETRIES.labels(self.stage)


@dataclass(frozen=True, slots=True)
class BatchRetried(Event):
    """Something outside is in trouble; the same batch is tried again."""

    level: ClassVar[Level | None] = "warning"
    name: ClassVar[str] = "batch retried"
    stage: str
    attempt: int
    wait_s: float
    error: str

    def measure(self) -> None:
        _RETRIES.labels(self.stage).inc()


@dataclass(frozen=True, slots=True)
class DeadLettered(Event):
    """A record became a dead letter."""

    level: ClassVar[Level | None] = "warning"
    name: ClassVar[str] = "dead letter"
    stage: str
    reason: str
    topic: str
    partition: int
    offset: int
    error: str

    def measure(self) -> None:
        _DEAD_LETTERS.labels(self.stage, self.reason).inc()


@dataclass(frozen=True, slots=True)
class ConsumerReplaced(Event):
    """A consumer crashed, most often because the broker is away; another takes its place after the wait."""

    level: ClassVar[Level | None] = "warning"
    name: ClassVar[str] = "consumer replaced"
    group: str
    attempt: int
    wait_s: float
    error: str

    def measure(self) -> None:
        _REPLACED.labels(self.group).inc()
