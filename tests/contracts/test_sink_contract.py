"""What every sink promises, whatever it writes to: one suite, each kind of store."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from infra.errors import NeverValid, RetryLater
from infra.kafka.topics import TopicName
from sinks.sink import Sink
from tests.contracts.sink_subjects import SUBJECTS, Subject
from tests.stores.servers import Servers
from tests.unit.sinks.sink_samples import NOON, block, block_of, document

TOPICS = [TopicName.DOCUMENTS, TopicName.FETCHES, TopicName.EVENTS]


@pytest.fixture(params=SUBJECTS)
def subject(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> Subject:
    """Each kind of sink, on an empty store."""
    return SUBJECTS[request.param](tmp_path, servers)


@asynccontextmanager
async def opened(subject: Subject) -> AsyncIterator[Sink]:
    """The sink, open, and closed after."""
    await subject.sink.open()
    try:
        yield subject.sink
    finally:
        await subject.sink.close()


def test_nothing_to_write_is_no_error(subject: Subject) -> None:
    """No blocks, or blocks without records, make no request and no row."""

    async def scenario() -> None:
        async with opened(subject) as sink:
            subject.fail_once(RetryLater("a request was made"))
            await sink.write(TopicName.DOCUMENTS, [])
            await sink.write(TopicName.DOCUMENTS, [block(TopicName.DOCUMENTS, range(0))])
            assert subject.rows(TopicName.DOCUMENTS) == 0

    asyncio.run(scenario())


@pytest.mark.parametrize("topic", TOPICS)
def test_what_was_written_is_there(subject: Subject, topic: TopicName) -> None:
    """When a write returns, its rows can be read; every topic has its own."""

    async def scenario() -> None:
        async with opened(subject) as sink:
            await sink.write(topic, [block(topic, range(10))])
            assert [subject.rows(each) for each in TOPICS] == [10 if each is topic else 0 for each in TOPICS]

    asyncio.run(scenario())


@pytest.mark.parametrize("topic", TOPICS)
def test_a_repeat_makes_no_second_row(subject: Subject, topic: TopicName) -> None:
    """The same block again, one that overlaps it, and one record alone leave one row for each record."""

    async def scenario() -> None:
        async with opened(subject) as sink:
            for offsets in (range(10), range(10), range(5, 15), range(7, 8)):
                await sink.write(topic, [block(topic, offsets)])
            assert subject.rows(topic) == 15

    asyncio.run(scenario())


@pytest.mark.parametrize("topic", TOPICS)
def test_the_same_record_at_another_place_makes_no_second_row(subject: Subject, topic: TopicName) -> None:
    """A producer that repeats itself writes the record again, at a later offset or on another partition."""

    async def scenario() -> None:
        async with opened(subject) as sink:
            first = block(topic, range(10))
            await sink.write(topic, [first])
            moved = tuple(entry._replace(offset=entry.offset + 100) for entry in first.entries)
            await sink.write(topic, [first._replace(entries=moved), first._replace(partition=1)])
            assert subject.rows(topic) == 10

    asyncio.run(scenario())


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0, 1)])
def test_of_two_versions_of_a_row_the_newer_stays(subject: Subject, order: Sequence[int]) -> None:
    """A page that was cleaned again replaces its row, and a replay of the older record does not bring it back."""
    versions = [document(0, text=f"version {each}", cleaned_at=NOON + timedelta(hours=each)) for each in range(3)]

    async def scenario() -> None:
        async with opened(subject) as sink:
            for place, number in enumerate(order):
                await sink.write(TopicName.DOCUMENTS, [block_of(TopicName.DOCUMENTS, versions[number], first=place)])
            assert subject.texts() == ["version 2"]

    asyncio.run(scenario())


def test_of_two_versions_in_one_write_the_newer_stays(subject: Subject) -> None:
    """The same, where both come in one block."""
    versions = [document(0, text=f"version {each}", cleaned_at=NOON + timedelta(hours=each)) for each in (1, 2, 0)]

    async def scenario() -> None:
        async with opened(subject) as sink:
            await sink.write(TopicName.DOCUMENTS, [block_of(TopicName.DOCUMENTS, *versions)])
            assert subject.texts() == ["version 2"]

    asyncio.run(scenario())


@pytest.mark.parametrize("topic", TOPICS)
def test_other_records_at_the_same_place_are_stored(subject: Subject, topic: TopicName) -> None:
    """A topic that was made anew has other records at the same offsets: they are rows of their own."""

    async def scenario() -> None:
        async with opened(subject) as sink:
            await sink.write(topic, [block(topic, range(10), crawl="before")])
            await sink.write(topic, [block(topic, range(10), crawl="after")])
            assert subject.rows(topic) == 20

    asyncio.run(scenario())


def test_many_partitions_go_in_one_write(subject: Subject) -> None:
    """The blocks of all partitions are stored, and a repeat that mixes them otherwise adds nothing."""

    async def scenario() -> None:
        async with opened(subject) as sink:
            blocks = [block(TopicName.FETCHES, range(100 * each, 100 * each + 7), each) for each in range(64)]
            await sink.write(TopicName.FETCHES, blocks)
            await sink.write(TopicName.FETCHES, blocks[10:20])
            assert subject.rows(TopicName.FETCHES) == 7 * 64

    asyncio.run(scenario())


def test_a_record_that_can_never_be_stored_is_isolated(subject: Subject) -> None:
    """The write says so by its kind of failure, and smaller blocks without the record go in."""
    poison = document(5, title="lone surrogate \ud83d")

    async def scenario() -> None:
        async with opened(subject) as sink:
            records = [poison if number == 5 else document(number) for number in range(10)]
            with pytest.raises(NeverValid):
                await sink.write(TopicName.DOCUMENTS, [block_of(TopicName.DOCUMENTS, *records)])
            await sink.write(TopicName.DOCUMENTS, [block_of(TopicName.DOCUMENTS, *records[:5])])
            with pytest.raises(NeverValid) as caught:
                await sink.write(TopicName.DOCUMENTS, [block_of(TopicName.DOCUMENTS, poison, first=5)])
            assert caught.value.reason == "unstorable"
            await sink.write(TopicName.DOCUMENTS, [block_of(TopicName.DOCUMENTS, *records[6:], first=6)])
            assert subject.rows(TopicName.DOCUMENTS) == 9

    asyncio.run(scenario())


def test_trouble_passes(subject: Subject) -> None:
    """After a failure of the store the same write succeeds, and its rows are there once."""

    async def scenario() -> None:
        async with opened(subject) as sink:
            blocks = [block(TopicName.DOCUMENTS, range(10))]
            subject.fail_once(RetryLater("down"))
            with pytest.raises(RetryLater):
                await sink.write(TopicName.DOCUMENTS, blocks)
            await sink.write(TopicName.DOCUMENTS, blocks)
            assert subject.rows(TopicName.DOCUMENTS) == 10

    asyncio.run(scenario())


def test_text_comes_back_as_it_was(subject: Subject) -> None:
    """NUL, quotes, backslashes, line ends of all kinds, emoji and non-characters are only text."""
    texts = [
        "a\x00b",
        "it's \\'; DROP TABLE documents; --",
        "\r\n\t\u2028\x85",
        "\U0001f577\ufe0f \ufdd0",
        "",
        "\ufeffx" * 1000,
    ]

    async def scenario() -> None:
        async with opened(subject) as sink:
            records = [document(number, text=text) for number, text in enumerate(texts)]
            await sink.write(TopicName.DOCUMENTS, [block_of(TopicName.DOCUMENTS, *records)])
            assert sorted(subject.texts()) == sorted(map(subject.stored, texts))

    asyncio.run(scenario())


@pytest.mark.parametrize("year", [1, 1899, 1969, 2107, 2300, 9999])
def test_a_time_out_of_range_is_stored_or_refused(subject: Subject, year: int) -> None:
    """A time that a store cannot hold is never stored as another time and spoils no neighbour."""
    strange = document(1, fetched_at=datetime(year, 1, 1, tzinfo=UTC))

    async def scenario() -> None:
        async with opened(subject) as sink:
            try:
                await sink.write(TopicName.DOCUMENTS, [block_of(TopicName.DOCUMENTS, strange)])
                stored = 1
            except NeverValid:
                stored = 0
            await sink.write(TopicName.DOCUMENTS, [block_of(TopicName.DOCUMENTS, document(0), document(2), first=1)])
            assert subject.rows(TopicName.DOCUMENTS) == 2 + stored

    asyncio.run(scenario())


def test_a_block_over_many_months_is_no_trouble(subject: Subject) -> None:
    """A replay over ten years in one block is stored; a limit on partitions would refuse it for ever."""
    records = [
        document(number, fetched_at=datetime(2016 + number // 12, 1 + number % 12, 1, tzinfo=UTC))
        for number in range(120)
    ]

    async def scenario() -> None:
        async with opened(subject) as sink:
            await sink.write(TopicName.DOCUMENTS, [block_of(TopicName.DOCUMENTS, *records)])
            await sink.write(TopicName.DOCUMENTS, [block_of(TopicName.DOCUMENTS, *records)])
            assert subject.rows(TopicName.DOCUMENTS) == 120

    asyncio.run(scenario())


def test_writes_of_several_topics_may_overlap(subject: Subject) -> None:
    """The topics of one store are fed at the same time."""

    async def scenario() -> None:
        async with opened(subject) as sink:
            await asyncio.gather(*(sink.write(topic, [block(topic, range(20))]) for topic in TOPICS for _ in range(3)))
            assert [subject.rows(topic) for topic in TOPICS] == [20, 20, 20]

    asyncio.run(scenario())


def test_opening_twice_changes_nothing(subject: Subject) -> None:
    """A writer that starts again finds its rows."""

    async def scenario() -> None:
        async with opened(subject) as sink:
            await sink.write(TopicName.DOCUMENTS, [block(TopicName.DOCUMENTS, range(3))])
            await sink.open()
            assert subject.rows(TopicName.DOCUMENTS) == 3

    asyncio.run(scenario())
