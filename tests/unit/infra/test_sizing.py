"""The arithmetic from pages a day to a cluster, and the rights and manifests that are made of data."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.kafka.rights import COMPONENTS, Kind, Operation, rights
from infra.kafka.sizing import PER_PAGE, held, partitions, retained_bytes, size
from infra.kafka.topics import TopicName, all_topics

PACES = st.floats(min_value=1_000, max_value=1e10)


def test_fifty_million_pages_a_day() -> None:
    """The design's own pace: 579 pages a second on 24 partitions, and a network that one gigabit carries."""
    need = size(50e6)
    assert need.pages_s == pytest.approx(578.7, abs=0.1)
    assert need.partitions == 24
    assert need.written_mb_s == pytest.approx(
        2 * 578.7 * sum(each.bytes_stored for each in PER_PAGE.values()) / 1e6, 1e-3
    )
    assert need.broker_in_mb_s < 125
    assert need.broker_out_mb_s < 250


@given(PACES, PACES)
def test_more_pages_never_need_less(one: float, other: float) -> None:
    """Every figure grows with the pace, or stays."""
    less, more = sorted((one, other))
    assert all(a <= b for a, b in zip(size(less).__dict__.values(), size(more).__dict__.values(), strict=True))


@given(st.floats(min_value=0.01, max_value=1e5))
def test_workers_share_partitions_evenly(pages_s: float) -> None:
    """The count is one that 2, 3, 4, 6 and 12 workers divide, whatever the pace."""
    assert partitions(pages_s) % 12 == 0


@given(PACES, st.sampled_from(sorted(PER_PAGE)))
def test_no_topic_holds_more_than_its_limits(pages_a_day: float, topic: TopicName) -> None:
    """Neither its size nor its time is exceeded; what is compacted does not go by time."""
    described = all_topics()[topic]
    kept, reach = retained_bytes(topic, pages_a_day / 86_400), held(topic, pages_a_day / 86_400)
    if described.retention_gib is not None:
        assert kept <= described.retention_gib * 2**30
    if reach is not None and described.retention is not None:
        assert reach.total_seconds() <= described.retention.total_seconds() * (1 + 1e-9)
    assert (reach is None) == (described.cleanup == "compact" or PER_PAGE[topic].bytes_stored == 0)


@pytest.mark.parametrize("component", COMPONENTS)
def test_rights_are_the_topics_file(component: str) -> None:
    """A component writes exactly what the file lists it as a writer of (an operator also what anyone may)."""
    written = {right.name for right in rights(component) if Operation.WRITE in right.operations}
    listed = {name.value for name, topic in all_topics().items() if component in topic.writers}
    assert written == listed | ({"seeds"} if component == "cli" else set())
    assert not any(Operation.WRITE in right.operations for right in rights(component) if right.kind is Kind.GROUP)


def test_who_only_looks_reads_no_records() -> None:
    """The autoscaler may describe, and nothing else."""
    assert {operation for right in rights("keda") for operation in right.operations} == {Operation.DESCRIBE}


def test_the_guide_shows_what_the_arithmetic_says() -> None:
    """The table of sizes in docs/deployment.md is this code's."""
    guide = (Path(__file__).resolve().parents[3] / "docs" / "deployment.md").read_text()
    rows = re.findall(
        r"(?m)^\| (\d+) million \| ([\d,]+) \| (\d+) \| ([\d.]+) \| ([\d.]+) / ([\d.]+) \| (\d+) \|$", guide
    )
    assert len(rows) == 4
    for millions, pages_s, count, written, incoming, outgoing, disk in rows:
        need = size(int(millions) * 1e6)
        assert f"{need.pages_s:,.0f}" == pages_s
        assert need.partitions == int(count)
        assert need.written_mb_s == pytest.approx(float(written), rel=0.05)
        assert need.broker_in_mb_s == pytest.approx(float(incoming), rel=0.05)
        assert need.broker_out_mb_s == pytest.approx(float(outgoing), rel=0.05)
        assert need.disk_gib == pytest.approx(float(disk), abs=1)
