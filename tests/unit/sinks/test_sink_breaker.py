"""When a store is left alone, and when it is tried again."""

import asyncio
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.errors import NeverValid, RetryLater
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.settings.sinks import BreakerSettings, StoreSettings
from sinks.breaker import Breaker, State
from sinks.feed import Writer
from sinks.memory.sink import MemorySink
from tests.unit.sinks.sink_samples import document, fetch, inbound

SECOND = timedelta(seconds=1)


def breaker(failures: int = 3) -> Breaker:
    """Waits 2 s at first and 10 s at the longest."""
    return Breaker(failures, 2 * SECOND, 10 * SECOND)


def test_a_few_failures_leave_the_way_open() -> None:
    """Below the limit nothing changes, and a success forgets the failures before it."""
    made = breaker()
    for _ in range(10):
        assert made.failed(0) is None
        assert made.failed(0) is None
        assert made.wait(0) is None
        made.succeeded()


def test_after_failures_in_a_row_nothing_is_tried_for_a_while() -> None:
    """At the limit the breaker opens, for longer each time, up to the longest wait; one success closes it."""
    made = breaker(failures=1)
    now_s, waits = 100.0, []
    for _ in range(5):
        wait = made.failed(now_s)
        assert wait is not None
        assert made.wait(now_s) == wait
        now_s += wait.total_seconds()
        assert made.wait(now_s) is None
        waits.append(wait)
    assert waits == [2 * SECOND, 4 * SECOND, 8 * SECOND, 10 * SECOND, 10 * SECOND]
    made.succeeded()
    assert made.state is State.CLOSED
    assert made.failed(now_s) == 2 * SECOND


def test_one_write_finds_out_whether_the_store_is_back() -> None:
    """When the wait is over the first asker goes on and all others wait, until its end is known."""
    made = breaker(failures=1)
    made.failed(0)
    assert made.wait(2) is None
    assert made.state is State.HALF_OPEN
    assert made.wait(2) == SECOND
    made.abandoned()
    assert made.wait(2) is None
    made.succeeded()
    assert made.wait(2) is None
    assert made.wait(2) is None


@given(st.lists(st.tuples(st.sampled_from(["ask", "succeed", "fail", "abandon"]), st.floats(0, 5))))
def test_no_history_shuts_a_store_out_for_ever(history: list[tuple[str, float]]) -> None:
    """Whatever happened, once nobody tries any more the longest wait lets a write through."""
    made, now_s, trying = breaker(), 0.0, 0
    for what, passed_s in history:
        now_s += passed_s
        if what == "ask":
            trying += made.wait(now_s) is None
        elif trying:
            trying -= 1
            {"succeed": made.succeeded, "fail": lambda: made.failed(now_s), "abandon": made.abandoned}[what]()  # noqa: B023
    for _ in range(trying):
        made.failed(now_s)
    assert made.wait(now_s + 10) is None


def test_a_writer_leaves_a_failing_store_alone() -> None:
    """After failures in a row a write is refused without a request; the refusal says when to come back."""
    ten = timedelta(minutes=10)
    store = StoreSettings(breaker=BreakerSettings(failures=2, first_wait=ten, longest_wait=ten))
    sink = MemorySink(Settings(), "memory:")
    writer = Writer("x", store, sink)
    batch = [inbound(TopicName.DOCUMENTS, 0, document(0))]

    async def scenario() -> None:
        sink.failures = [RetryLater("down"), RetryLater("down"), RetryLater("was asked")]
        for _ in range(2):
            with pytest.raises(RetryLater, match="down"):
                await writer.write(TopicName.DOCUMENTS, batch)
        with pytest.raises(RetryLater, match="left alone") as caught:
            await writer.write(TopicName.FETCHES, [inbound(TopicName.FETCHES, 0, fetch(0))])
        assert caught.value.after is not None
        assert timedelta(minutes=9) < caught.value.after <= ten

    asyncio.run(scenario())
    assert len(sink.failures) == 1


def test_a_bad_row_does_not_speak_against_the_store() -> None:
    """However many rows are refused, the store is asked on."""
    sink = MemorySink(Settings(), "memory:")
    writer = Writer("x", StoreSettings(breaker=BreakerSettings(failures=1)), sink)
    batch = [inbound(TopicName.DOCUMENTS, 0, document(0))]

    async def scenario() -> None:
        for _ in range(3):
            sink.failures = [NeverValid("refused_by_store", "bad")]
            with pytest.raises(NeverValid):
                await writer.write(TopicName.DOCUMENTS, batch)
        await writer.write(TopicName.DOCUMENTS, batch)

    asyncio.run(scenario())
    assert writer.tally.counts()["rows_documents"] == 1


def test_only_what_is_selected_is_written_and_counted() -> None:
    """The records of another crawl are done without being stored."""
    sink = MemorySink(Settings(), "memory:")
    writer = Writer("x", StoreSettings(crawls=("mine",)), sink)
    batch = [
        inbound(TopicName.DOCUMENTS, number, document(number, ("mine", "other")[number % 2])) for number in range(9)
    ]
    asyncio.run(writer.write(TopicName.DOCUMENTS, batch))
    assert len(sink.rows[TopicName.DOCUMENTS]) == writer.tally.counts()["rows_documents"] == 5
