"""The base of all events, and the one door through which they go."""

from contextlib import suppress
from dataclasses import dataclass, fields
from typing import ClassVar, Literal

import structlog

from infra.telemetry.tracing import Trace

Level = Literal["debug", "info", "warning", "error"]


_RANK: dict[Level, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_least = 0


def write_from(level: Level) -> None:
    """Write the log lines of events of this level and above; of all before it is called."""
    global _least  # noqa: PLW0603  # one process, one log
    _least = _RANK[level]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. Its fields are the fields of its log line.

    ``level`` is that of the log line; ``None`` for what happens too often to be written and is only measured.
    """

    level: ClassVar[Level | None] = "info"
    name: ClassVar[str]

    def measure(self) -> None:
        """Update the metrics that this event moves; none by default."""


def emit(event: Event, trace: Trace | None = None) -> None:
    """Write the event's log line, with the trace and span when it belongs to one, and update its metrics."""
    event.measure()
    # Most events of a busy stage are only measured: asking here costs a tenth of letting the logger drop them.
    if event.level is None or _RANK[event.level] < _least:
        return
    logger = structlog.get_logger()
    about = {field.name: getattr(event, field.name) for field in fields(event)}
    if trace is not None:
        about |= {"trace_id": trace.trace_id, "span_id": trace.span_id}
    # Whoever reads our log may have gone (a closed pipe): that is no failure of the work that is told about.
    with suppress(OSError, ValueError):
        getattr(logger, event.level)(event.name, **about)
