"""One thread reads, a loop works: offsets follow the effects, through pauses and rebalances, on a real Kafka."""

import asyncio
import time
from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest
import uvloop

from infra.kafka.intake import Intake, IntakeLimits, Received
from infra.kafka.lag import LagReader, Offsets, Place
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from tests.conftest import PARTITIONS

pytestmark = pytest.mark.timeout(120)

TOPIC = TopicName.URLS


class Member:
    """One member of a group, whose work ends when the test says so."""

    def __init__(self, settings: Settings, group: str, in_flight: int = 1_000, *, holds: bool = False) -> None:
        self.intake = Intake(settings, f"member-{uuid4().hex[:6]}", group, [TOPIC], IntakeLimits(in_flight))
        self.taken: list[Received] = []
        self.held: list[Received] = []
        self.gone: set[Place] = set()
        self._holds = holds
        self.intake.start(self._take, self._on_change)

    def _take(self, batch: list[Received]) -> None:
        self.taken += batch
        self.held += batch
        if not self._holds:
            self.finish(len(self.held))

    def _on_change(self, gone: set[Place], *, lost: bool) -> None:
        if lost:
            self.gone |= gone

    def finish(self, count: int) -> None:
        """The last ones first."""
        for _ in range(count):
            self.intake.done(self.held.pop())

    async def close(self) -> None:
        assert await asyncio.to_thread(self.intake.close)


async def until(holds: Callable[[], bool], timeout_s: float = 30) -> None:
    """Return when it holds."""
    async with asyncio.timeout(timeout_s):
        while not await asyncio.to_thread(holds):  # noqa: ASYNC110  # Kafka is asked, it does not tell
            await asyncio.sleep(0.05)


def send(settings: Settings, keys: list[str]) -> set[bytes]:
    """Write a record for each key, with itself as value."""
    producer = Producer(settings, "test")
    for key in keys:
        producer.send(Outbound(TOPIC, key.encode(), key.encode()), lambda _error: None)
    assert producer.flush(timedelta(seconds=20)) == 0
    return {key.encode() for key in keys}


def offsets(settings: Settings, group: str) -> Offsets:
    """What the group has committed, and where the topic ends."""
    return LagReader(settings, {group: (TOPIC,)}).read()


def lag(settings: Settings, group: str) -> int:
    """Records that the group has not committed."""
    look = offsets(settings, group)
    return sum(max(0, end - look.committed[group].get(place, 0)) for place, end in look.ends.items())


@pytest.fixture
def group() -> str:
    """A group of its own for each test."""
    return f"group-{uuid4().hex}"


def test_a_group_commits_where_it_begins(kafka_settings: Settings, group: str) -> None:
    """A member that has done nothing still commits its position for each partition: a scaler can compute the lag."""

    async def scenario() -> None:
        member = Member(kafka_settings, group, holds=True)
        await until(lambda: len(offsets(kafka_settings, group).committed[group]) == PARTITIONS)
        await member.close()

    send(kafka_settings, [f"before-{n}" for n in range(8)])
    uvloop.run(scenario())
    look = offsets(kafka_settings, group)
    assert look.committed[group] == {place: start for place, start in look.starts.items() if place[0] == TOPIC}


def test_no_commit_passes_a_record_that_is_not_done(kafka_settings: Settings, group: str) -> None:
    """Records end out of order; what a member leaves undone is read again by the next one."""

    async def scenario() -> tuple[Received, list[Received]]:
        first = Member(kafka_settings, group, holds=True)
        await until(lambda: {each.record.value for each in first.taken} >= mine)
        undone = first.held.pop(0)
        first.finish(len(first.held))
        await asyncio.sleep(1.2)
        await first.close()
        look = offsets(kafka_settings, group)
        place = (undone.record.topic, undone.record.partition)
        assert look.committed[group][place] == undone.record.offset
        second = Member(kafka_settings, group)
        await until(lambda: lag(kafka_settings, group) == 0)
        await second.close()
        return undone, second.taken

    mine = send(kafka_settings, [f"{group}-{n}" for n in range(40)])
    undone, again = uvloop.run(scenario())
    assert undone.record in [each.record for each in again]
    assert all(each.maybe_tried for each in again)


def test_a_full_member_takes_no_more_and_goes_on_afterwards(kafka_settings: Settings, group: str) -> None:
    """Never more in flight than the limit; reading goes on after a pause, to the last record."""

    async def scenario() -> None:
        member = Member(kafka_settings, group, in_flight=7, holds=True)
        await until(lambda: len(member.held) == 7)
        await asyncio.sleep(1)
        left = 1
        while member.held or left:
            assert len(member.held) <= 7
            member.finish(min(3, len(member.held)))
            await asyncio.sleep(0.01)
            left = 0 if member.held else await asyncio.to_thread(lag, kafka_settings, group)
        assert {each.record.value for each in member.taken} >= mine
        await member.close()

    mine = send(kafka_settings, [f"{group}-{n}" for n in range(60)])
    uvloop.run(scenario())


def test_partitions_that_move_lose_nothing(kafka_settings: Settings, group: str) -> None:
    """While members join and leave, every record is taken, and what was done before a move is not taken again."""

    async def scenario() -> None:
        first = Member(kafka_settings, group)
        await until(lambda: lag(kafka_settings, group) == 0)
        before = {(each.record.partition, each.record.offset) for each in first.taken}
        second = Member(kafka_settings, group, holds=True)
        await until(lambda: bool(second.intake.partitions()) and len(first.intake.partitions()) < PARTITIONS)
        mine = await asyncio.to_thread(send, kafka_settings, [f"{group}-move-{n}" for n in range(80)])
        await until(lambda: {each.record.value for each in [*first.taken, *second.taken]} >= mine)
        assert not before & {(each.record.partition, each.record.offset) for each in second.taken}
        kept = second.held.pop()
        second.finish(len(second.held))
        await second.close()
        await until(lambda: lag(kafka_settings, group) == 0)
        assert kept.record in [each.record for each in first.taken]
        # Some of what was done sits behind the one that was not: it may come again, nothing else may.
        assert {each.record.partition for each in second.taken} <= {place[1] for place in second.gone}
        await first.close()

    send(kafka_settings, [f"{group}-{n}" for n in range(40)])
    uvloop.run(scenario())


def test_a_record_that_outlasts_its_partition_is_not_committed(kafka_settings: Settings, group: str) -> None:
    """Work that ends after its partition went to another member changes nothing there."""

    async def scenario() -> None:
        first = Member(kafka_settings, group, holds=True)
        await until(lambda: {each.record.value for each in first.taken} >= mine)
        second = Member(kafka_settings, group, holds=True)
        await until(lambda: bool(first.gone))
        late = len(first.held)
        first.finish(late)
        await asyncio.sleep(1.5)
        look = offsets(kafka_settings, group)
        moved = {place: look.committed[group].get(place, 0) for place in first.gone}
        assert moved == {place: look.starts[place] for place in first.gone}
        await until(lambda: len(second.taken) >= sum(look.ends[place] - look.starts[place] for place in first.gone))
        await second.close()
        await first.close()

    mine = send(kafka_settings, [f"{group}-{n}" for n in range(40)])
    uvloop.run(scenario())


def test_what_is_on_its_way_when_a_member_drains_is_not_begun(kafka_settings: Settings, group: str) -> None:
    """Work begun after a stop would be cut off and done twice: the batch waits for the next member, whole."""

    async def scenario() -> list[Received]:
        first = Member(kafka_settings, group, holds=True)
        await until(lambda: len(offsets(kafka_settings, group).committed[group]) == PARTITIONS)
        # Read while the loop is busy: the batch is handed over, and stands behind us.
        mine = send(kafka_settings, [f"late-{n}" for n in range(8)])
        time.sleep(2)  # noqa: ASYNC251  # the loop has to be held up
        first.intake.drain()
        await asyncio.sleep(0.5)
        taken = [each for each in first.taken if each.record.value in mine]
        await first.close()
        second = Member(kafka_settings, group)
        await until(lambda: {each.record.value for each in second.taken} >= mine)
        await second.close()
        return taken

    assert uvloop.run(scenario()) == []
