"""Telling what happened never hinders what happens."""

import io

import pytest
import structlog

from infra.telemetry.event import emit
from infra.telemetry.vocabulary.running import StageStarted


class BrokenPipe(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


@pytest.mark.parametrize("closed", [True, False])
def test_a_log_that_nobody_reads_is_no_failure(closed: bool) -> None:
    """A closed stream or a broken pipe must not turn a record that was written into a dead letter."""
    stream = BrokenPipe()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(stream))
    if closed:
        stream.close()
    emit(StageStarted("sinks", "sinks-test-1", "http://127.0.0.1:1"))
