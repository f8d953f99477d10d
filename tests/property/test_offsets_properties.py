"""Whatever the order in which records finish, no commit passes one that has not."""

from hypothesis import given
from hypothesis import strategies as st

from infra.kafka.offsets import ContiguousOffsets


@given(
    gaps=st.lists(st.integers(min_value=1, max_value=4), min_size=1, max_size=40),
    data=st.data(),
)
def test_a_commit_never_passes_an_undone_offset_and_never_moves_back(gaps: list[int], data: st.DataObject) -> None:
    """At each step the committable offset is the lowest undone one, and commits only grow."""
    position = data.draw(st.integers(min_value=0, max_value=5))
    offsets = ContiguousOffsets(position=position)
    waiting = [position + sum(gaps[: number + 1]) - 1 for number in range(len(gaps))]
    in_flight: set[int] = set()
    highest = position
    last_commit = -1
    while waiting or in_flight:
        if waiting and (not in_flight or data.draw(st.booleans())):
            offset = waiting.pop(0)
            assert offsets.start(offset)
            in_flight.add(offset)
            highest = offset + 1
        else:
            offset = data.draw(st.sampled_from(sorted(in_flight)))
            offsets.done(offset)
            in_flight.remove(offset)
        commit = offsets.committable()
        assert offsets.in_flight == len(in_flight)
        if commit is not None:
            assert commit == min(in_flight, default=highest)
            assert commit > last_commit
            if data.draw(st.booleans()):
                offsets.committed(commit)
                last_commit = commit
    assert offsets.committable() in (None, highest)
