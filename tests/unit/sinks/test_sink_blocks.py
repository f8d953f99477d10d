"""What a batch becomes before any store sees it."""

from datetime import timedelta

import pytest

from infra.errors import NeverValid, UserError
from infra.kafka.inbound import Inbound
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.settings.sinks import StoreSettings
from infra.telemetry.tracing import HEADER, trace_of
from sinks.blocks import blocks, portions
from sinks.keys import decision_id, row_key
from sinks.latency import Latency
from sinks.stores import group, make_sink
from tests.unit.sinks.sink_samples import NOON, block_of, decision, document, fetch, inbound


def test_a_batch_becomes_one_block_for_each_partition_in_offset_order() -> None:
    """Records are grouped by partition and stand in the order of their offsets, whatever order they came in."""
    records = [inbound(TopicName.DOCUMENTS, offset, document(offset), offset % 2) for offset in (5, 4, 1, 0, 3, 2)]
    cut = blocks(TopicName.DOCUMENTS, records)
    assert [(block.partition, [entry.offset for entry in block.entries]) for block in cut] == [
        (0, [0, 2, 4]),
        (1, [1, 3, 5]),
    ]


def test_the_token_names_the_place_of_a_block() -> None:
    """The same records have the same token, in whatever order they came; other records another."""
    records = [inbound(TopicName.DOCUMENTS, offset, document(offset)) for offset in range(4)]
    [forward], [backward] = blocks(TopicName.DOCUMENTS, records), blocks(TopicName.DOCUMENTS, records[::-1])
    assert forward.token == backward.token
    assert forward.token.startswith("documents/0/0-3/")
    assert blocks(TopicName.DOCUMENTS, records[:3])[0].token.startswith("documents/0/0-2/")


def test_other_records_at_the_same_place_have_another_token() -> None:
    """A topic that was made anew begins at offset 0 again; its records must not pass for the old ones."""
    tokens = {
        block_of(topic, record).token
        for topic, record in (
            (TopicName.DOCUMENTS, document(0)),
            (TopicName.DOCUMENTS, document(0, fetch_id="other")),
            (TopicName.DOCUMENTS, document(0, cleaned_at=NOON)),
            (TopicName.FETCHES, fetch(0)),
            (TopicName.FETCHES, fetch(0, fetch_id="other")),
            (TopicName.EVENTS, decision(0)),
            (TopicName.EVENTS, decision(0, at=NOON - timedelta(days=1))),
        )
    }
    assert len(tokens) == 7


def test_a_record_read_twice_is_in_its_block_once() -> None:
    """A rebalance in the middle of a batch can hand the same offset out again."""
    record = inbound(TopicName.FETCHES, 7, fetch(7))
    [block] = blocks(TopicName.FETCHES, [record, record])
    assert len(block.entries) == 1


def test_the_trace_of_a_record_comes_along() -> None:
    """The row carries the trace of the header; a record without one, or with nonsense, has none."""
    record = inbound(TopicName.DOCUMENTS, 0, document(0))
    broken = record._replace(offset=1, headers={HEADER: b"\xff00-x"})
    [block] = blocks(TopicName.DOCUMENTS, [record, broken])
    assert block.entries[0].trace is not None
    assert block.entries[0].trace.trace_id == trace_of("test", document(0).url_id, 0).trace_id
    assert block.entries[1].trace is None


@pytest.mark.parametrize("value", [None, b"", b"{}", b"\xc3\x01", b"\xc3\x01" + bytes(8), bytes(10_000)])
def test_what_is_no_record_is_never_valid(value: bytes | None) -> None:
    """A tombstone, other bytes and unknown schemas are poison, not a crash and not a retry."""
    good = inbound(TopicName.DOCUMENTS, 0, document(0))
    with pytest.raises(NeverValid) as caught:
        blocks(TopicName.DOCUMENTS, [good, Inbound("documents", 0, 1, None, value, {}, 0)])
    assert caught.value.reason == "undecodable"


def test_a_record_of_another_topic_is_never_valid() -> None:
    """A fetch in the topic of documents cannot pass for a document."""
    with pytest.raises(NeverValid):
        blocks(TopicName.DOCUMENTS, [inbound(TopicName.FETCHES, 0, fetch(0))])


@pytest.mark.parametrize("sizes", [[], [1], [10], [11], [1, 9, 1], [11, 1, 1], [5, 5, 5, 5], [3] * 40])
def test_a_batch_is_written_in_portions_of_bounded_size(sizes: list[int]) -> None:
    """Portions keep every record and its order, and hold more than the limit only for one record that does."""
    records = [Inbound("documents", 0, place, None, bytes(size), {}, 0) for place, size in enumerate(sizes)]
    found = list(portions(records, limit_bytes=10))
    assert [record for portion in found for record in portion] == records
    assert all(len(portion) == 1 or sum(len(each.value or b"") for each in portion) <= 10 for portion in found)
    assert all(found)


def test_a_decision_taken_again_is_the_same_decision() -> None:
    """The id of a decision ignores when it was taken, and nothing else."""
    first = decision(1)
    assert decision_id(first) == decision_id(decision(1, at=NOON))
    others = [
        decision(2),
        decision(1, reason="excluded"),
        decision(1, stage="frontier"),
        decision(1, detail="x"),
        decision(1, depth=3),
        decision(1, crawl="other"),
    ]
    assert len({decision_id(each) for each in [first, *others]}) == 7


def test_parts_of_a_decision_do_not_run_into_each_other() -> None:
    """Where one part ends and the next begins is part of the id."""
    assert decision_id(decision(1, stage="ab", reason="c")) != decision_id(decision(1, stage="a", reason="bc"))


def test_two_visits_of_a_page_are_two_rows() -> None:
    """The key of a document holds the visit; that of a fetch is its id alone."""
    assert row_key(document(1)) != row_key(document(1, visit=1))
    assert row_key(document(1)) == row_key(document(1, fetch_id="again", text="other"))
    assert row_key(fetch(1)) == ("test-1",)


def test_latency_quantiles_are_right_to_five_percent() -> None:
    """Quantiles come from a histogram in constant memory and are off by one bucket at most."""
    latency = Latency()
    assert latency.quantile(0.5) is None
    assert latency.counts() == {}
    latency.observe([NOON - timedelta(milliseconds=each) for each in range(1, 1001)], NOON)
    counts = latency.counts()
    assert 500 <= counts["fetch_to_row_p50_ms"] <= 525
    assert 950 <= counts["fetch_to_row_p95_ms"] <= 998
    assert 990 <= counts["fetch_to_row_p99_ms"] <= 1040


def test_a_store_of_no_kind_is_told_to_the_user() -> None:
    """A DSN that nothing can open is a mistake of the user, with the choice in the message, without the DSN."""
    with pytest.raises(UserError, match=r"sinks\.stores\.x\.dsn.*clickhouse.*memory.*postgres") as caught:
        make_sink("x", StoreSettings(dsn="cassandra://user:secret@host"), Settings())
    assert "secret" not in str(caught.value)
    assert group("x") == "odradek-sink-x"
