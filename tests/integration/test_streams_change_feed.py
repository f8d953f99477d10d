"""The change feed of a streams process on a real Kafka: each change once, whoever has the partition."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.settings import Settings
from tests.integration.streams_scene import Pipeline


@pytest.fixture
def pipeline(kafka_settings: Settings, tmp_path: Path) -> Iterator[Pipeline]:
    """No worker yet."""
    pipeline = Pipeline(kafka_settings, tmp_path)
    yield pipeline
    pipeline.end()


def body(*lines: str, title: str = "T") -> bytes:
    """A page with these paragraphs."""
    return f"<title>{title}</title>{''.join(f'<p>{line}</p>' for line in lines)}".encode()


def test_a_page_that_changed_is_told_with_what_changed(pipeline: Pipeline) -> None:
    """A visit with other text, one with nothing new, one with another title; also within one batch."""
    pipeline.send(
        pipeline.page(1, body("one line", "two lines")),
        pipeline.page(2, body("never changes")),
        pipeline.page(1, body("one line", "three lines"), visit=1),
        pipeline.page(2, body("never changes"), visit=1),
        pipeline.page(1, body("one line", "three lines"), visit=2),
        pipeline.page(1, b"<title>Just a moment...</title>", visit=3),
    )
    pipeline.start()
    pipeline.wait(lambda out: sum(out.documents.values()) == 6)
    pipeline.send(pipeline.page(1, body("one line", "three lines", title="U"), visit=4))
    output = pipeline.wait(lambda out: len(out.changes) == 2)
    first, second = output.changes
    assert (first.visit, first.former_visit, first.fields) == (1, 0, ["text"])
    assert (first.added, first.removed) == (["three lines"], ["two lines"])
    assert (second.visit, second.former_visit, second.fields) == (4, 1, ["title"])
    assert (second.before, second.after) == ({"title": "T"}, {"title": "U"})


@pytest.mark.parametrize("killed", [True, False], ids=["killed", "stopped"])
def test_the_next_owner_knows_what_a_page_said(pipeline: Pipeline, killed: bool) -> None:
    """After kill -9 or a stop every page that changed is told; nothing that did not is."""
    count = 100
    pipeline.send(*(pipeline.page(number, body(f"page {number}", "before")) for number in range(count)))
    process = pipeline.start()
    pipeline.wait(lambda out: len(out.documents) == count)
    pipeline.send(*(pipeline.page(number, body(f"page {number}", "after"), visit=1) for number in range(count)))
    pipeline.wait(lambda out: len(out.changes) > 5)
    process.kill() if killed else process.terminate()
    process.wait(40)
    pipeline.send(*(pipeline.page(number, body(f"page {number}", "after"), visit=2) for number in range(count)))
    pipeline.start()
    output = pipeline.wait(
        lambda out: len({each.url for each in out.changes}) == count and min(out.documents.values()) >= 3
    )
    assert {(each.former_visit, each.visit) for each in output.changes} == {(0, 1)}
    assert all((each.added, each.removed) == (["after"], ["before"]) for each in output.changes)
    if not killed:
        assert len(output.changes) == count


def test_a_second_worker_takes_over_what_the_first_remembered(pipeline: Pipeline) -> None:
    """Partitions change hands while pages come: each change is told, by whoever has the page then."""
    count = 60
    pipeline.start()
    pipeline.send(*(pipeline.page(number, body(f"page {number}", "zero")) for number in range(count)))
    pipeline.wait(lambda out: len(out.documents) == count)
    pipeline.start()
    for visit, word in ((1, "one"), (2, "two"), (3, "three")):
        pipeline.send(*(pipeline.page(number, body(f"page {number}", word), visit=visit) for number in range(count)))
        due = count * visit
        pipeline.wait(lambda out, due=due: len({(each.url, each.visit) for each in out.changes}) == due)  # type: ignore[misc]
    seen = {(each.url, each.former_visit, each.visit) for each in pipeline.output.changes}
    assert {(former, now) for _, former, now in seen} == {(0, 1), (1, 2), (2, 3)}
