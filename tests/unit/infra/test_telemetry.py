"""Logs without secrets, traces that continue."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.settings import Settings
from infra.telemetry import logs
from infra.telemetry.event import emit
from infra.telemetry.tracing import HEADER, Trace, read, trace_of
from infra.telemetry.vocabulary.running import DeadLettered


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("http://u:p@proxy.test:8080 failed", "http://***@proxy.test:8080 failed"),
        ("clickhouse://user:secret@h/db", "clickhouse://***@h/db"),
        ("http://user@h.test/", "http://***@h.test/"),
        ("mail me@h.test", "mail me@h.test"),
    ],
)
def test_user_info_is_redacted(text: str, right: str) -> None:
    """No user name or password of a URL reaches a log."""
    assert logs.redact(text) == right


def test_an_event_is_one_json_line(capsys: pytest.CaptureFixture[str]) -> None:
    """An event's log line is JSON with its fields, the stage, and trace and span when it belongs to a trace."""
    logs.configure(Settings(log_format="json"), "streams", "streams-1")
    event = DeadLettered("streams", "bad_json", "seeds", 0, 7, "http://u:p@h.test/ is no URL")
    emit(event, trace_of("c", b"0" * 16, 0))
    line = json.loads(capsys.readouterr().err.strip().splitlines()[-1])
    assert (line["event"], line["stage"], line["worker"], line["offset"]) == ("dead letter", "streams", "streams-1", 7)
    assert len(line["trace_id"]) == 32
    assert len(line["span_id"]) == 16
    assert "u:p" not in line["error"]


@given(st.binary(max_size=64))
def test_a_foreign_traceparent_is_valid_or_ignored(value: bytes) -> None:
    """Whatever the header holds: a valid trace or none (W3C Trace Context, 3.2)."""
    trace = read({HEADER: value})
    assert trace is None or len(trace.trace_id) == 32


def test_a_trace_continues_through_a_header() -> None:
    """Who reads the header has the same trace; a child has a span of its own; a visit has one trace for everybody."""
    trace = trace_of("c", b"1" * 16, 0)
    name, value = trace.child().header()
    assert isinstance(value, bytes)
    again = read({name: value})
    assert again is not None
    assert again.trace_id == trace.trace_id == trace_of("c", b"1" * 16, 0).trace_id
    assert again.span_id != trace.span_id
    assert trace_of("c", b"1" * 16, 1).trace_id != trace.trace_id
    assert read({name: b"00-" + b"0" * 32 + b"-" + b"1" * 16 + b"-01"}) is None
    assert isinstance(trace, Trace)
