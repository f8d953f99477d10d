"""The contiguous offsets of one partition."""

import pytest

from infra.kafka.offsets import ContiguousOffsets


def test_a_group_that_never_committed_commits_where_it_begins() -> None:
    """Where nothing was committed, the starting position is committable before any record came."""
    assert ContiguousOffsets(position=7).committable() == 7


def test_what_the_broker_has_is_not_committed_again() -> None:
    """Nothing is committable while the committed offset is as far."""
    offsets = ContiguousOffsets(position=7, committed=7)
    assert offsets.committable() is None
    offsets.start(7)
    assert offsets.committable() is None
    offsets.done(7)
    assert offsets.committable() == 8
    offsets.committed(8)
    assert offsets.committable() is None


def test_an_undone_offset_holds_back_those_after_it() -> None:
    """The lowest undone offset is the one to commit, across gaps."""
    offsets = ContiguousOffsets(position=0, committed=0)
    for offset in (3, 4, 9):
        assert offsets.start(offset)
    offsets.done(4)
    offsets.done(9)
    assert (offsets.committable(), offsets.in_flight) == (3, 1)
    offsets.done(3)
    assert (offsets.committable(), offsets.in_flight) == (10, 0)


def test_a_late_report_of_an_older_commit_changes_nothing() -> None:
    """What counts as committed never moves back."""
    offsets = ContiguousOffsets(position=5, committed=5)
    offsets.committed(3)
    assert offsets.committable() is None


def test_an_offset_is_started_and_done_once() -> None:
    """A repeated start is refused, a repeated or unknown end is an error."""
    offsets = ContiguousOffsets(position=0)
    assert offsets.start(0)
    assert not offsets.start(0)
    offsets.start(1)
    offsets.done(1)
    with pytest.raises(ValueError, match="not in flight"):
        offsets.done(1)
    with pytest.raises(ValueError, match="not in flight"):
        offsets.done(2)


def test_one_slow_record_fills_the_partition() -> None:
    """Above the limit the partition is full until the slow record is done."""
    offsets = ContiguousOffsets(position=0, limit=3)
    for offset in range(3):
        offsets.start(offset)
    offsets.done(1)
    offsets.done(2)
    assert offsets.full
    offsets.done(0)
    assert not offsets.full
