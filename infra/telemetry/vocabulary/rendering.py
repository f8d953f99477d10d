"""What happens in the renderers."""

from dataclasses import dataclass
from typing import ClassVar

from prometheus_client import Counter, Histogram

from infra.telemetry.event import Event, Level
from schemas.records import Cut

_RENDERED = Counter(
    "odradek_rendered_pages_total", "Pages that were rendered, by why they were cut, if they were.", ["cut"]
)
_NOT_RENDERED = Counter(
    "odradek_unrendered_pages_total", "Pages that could not be rendered and were stored as they came."
)
_SECONDS = Histogram(
    "odradek_render_seconds",
    "From a document to what its scripts made of it.",
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60),
)
_PARTS = Counter("odradek_rendered_parts_total", "What pages asked for, by whether they got it.", ["given"])
_STARTED = Counter("odradek_browsers_started_total", "Browsers that were started.")
_ENDED = Counter("odradek_browsers_ended_total", "Browsers that ended, by why.", ["why"])
_TOO_LARGE = Counter("odradek_pages_too_large_total", "Pages that were ended because they took too much memory.")


@dataclass(frozen=True, slots=True)
class PageRendered(Event):
    """A page was rendered; ``cut`` when its scripts did not end or it was too long."""

    level: ClassVar[Level | None] = "debug"
    name: ClassVar[str] = "page rendered"
    url: str
    took_s: float
    parts: int
    refused: int
    cut: Cut | None

    def measure(self) -> None:
        _RENDERED.labels(self.cut or "no").inc()
        _SECONDS.observe(self.took_s)
        _PARTS.labels("true").inc(self.parts)
        _PARTS.labels("false").inc(self.refused)


@dataclass(frozen=True, slots=True)
class PageNotRendered(Event):
    """A page could not be rendered: it is stored as it came."""

    level: ClassVar[Level | None] = "warning"
    name: ClassVar[str] = "page not rendered"
    url: str
    error: str

    def measure(self) -> None:
        _NOT_RENDERED.inc()


@dataclass(frozen=True, slots=True)
class BrowserStarted(Event):
    """A browser was started."""

    name: ClassVar[str] = "browser started"
    version: str

    def measure(self) -> None:
        _STARTED.inc()


@dataclass(frozen=True, slots=True)
class BrowserEnded(Event):
    """A browser ended: ``closed``, ``old`` or ``lost``."""

    name: ClassVar[str] = "browser ended"
    why: str

    def measure(self) -> None:
        _ENDED.labels(self.why).inc()


@dataclass(frozen=True, slots=True)
class PageTooLarge(Event):
    """A page took more memory than it may; its process was ended."""

    level: ClassVar[Level | None] = "warning"
    name: ClassVar[str] = "page too large"
    limit_mib: int

    def measure(self) -> None:
        _TOO_LARGE.inc()
