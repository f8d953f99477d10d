"""The one agent shape, on a real Kafka: nothing is lost, whatever a handler does."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from infra.agents import Agent, AgentWorker, DirectWorker, Unusable
from infra.errors import Fatal, NeverValid, RetryLater
from infra.kafka.clients import common_config, consumer_config
from infra.kafka.control import Control
from infra.kafka.inbound import Inbound
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.stage import Context
from schemas.letters import DeadLetter
from schemas.wire import decode

TOPIC = TopicName.SEEDS
COUNT = 300


class Reader:
    """A group of one agent, and what its handler saw of the records of this test."""

    def __init__(self, settings: Settings, make: type[AgentWorker] | type[DirectWorker]) -> None:
        self.settings = settings
        self.make = make
        self.group = f"test-{uuid4().hex[:8]}"
        self.mark = uuid4().hex.encode()
        self.handled: Counter[bytes] = Counter()

    async def produce(self, count: int = COUNT) -> None:
        """Records that carry this test's mark."""
        records = [Outbound(TOPIC, b"%d" % n, self.mark + b"-%d" % n, [("traceparent", b"t")]) for n in range(count)]
        await Producer(self.settings, "test").deliver(records)

    async def run(self, handle: "HandleMine", *, until: int, limit: bool = True, stop_at: int | None = None) -> None:
        """Run a worker until ``until`` records were handled (or, with ``stop_at``, begin to stop there)."""
        context = Context(f"worker-{uuid4().hex[:8]}", self.settings, Control(self.settings, "unused"))
        stopping = asyncio.Event()

        async def mine(batch: Sequence[Inbound]) -> None:
            own = [record for record in batch if (record.value or b"").startswith(self.mark)]
            try:
                if own:
                    await handle(own)
                self.handled.update(record.value or b"" for record in own)
            finally:
                if len(self.handled) >= (stop_at or until):
                    stopping.set()

        agent = Agent("test", TOPIC, mine, 50, timedelta(milliseconds=50), limit_dead_letters=limit)
        worker = self.make(context, self.group, [agent], Producer(self.settings, "letters"))
        await asyncio.wait_for(worker.run(stopping), 60)

    def lag(self) -> int:
        """What the group has not committed."""
        consumer = Consumer(consumer_config(self.settings, "test-lag", self.group))
        partitions = AdminClient(common_config(self.settings, "t")).list_topics(TOPIC, 10).topics[TOPIC].partitions
        behind = 0
        for each in consumer.committed([TopicPartition(TOPIC, number) for number in partitions], 10):
            low, high = consumer.get_watermark_offsets(each, 10)
            behind += high - (each.offset if each.offset >= 0 else low)
        consumer.close()
        return behind

    def letters(self) -> list[DeadLetter]:
        """The dead letters of this test's records."""
        consumer = Consumer(consumer_config(self.settings, "test-letters", f"letters-{uuid4().hex}"))
        consumer.subscribe([TopicName.DEAD_LETTERS])
        found: dict[str, DeadLetter] = {}
        quiet = 0
        while quiet < 20:
            message = consumer.poll(0.25)
            if message is None or message.error():
                quiet += 1
                continue
            value = message.value()
            letter = decode(DeadLetter, value if isinstance(value, bytes) else None)
            if (letter.value or b"").startswith(self.mark):
                found[letter.letter_id] = letter
        consumer.close()
        return sorted(found.values(), key=lambda letter: letter.value or b"")


class HandleMine:
    """A handler of this test's records that fails as told."""

    def __init__(self, fail: "dict[bytes, Exception] | None" = None, first: Exception | None = None) -> None:
        self._fail = fail or {}
        self._first = first

    async def __call__(self, batch: Sequence[Inbound]) -> None:
        await asyncio.sleep(0)
        if self._first is not None:
            first, self._first = self._first, None
            raise first
        for record in batch:
            number = (record.value or b"").rpartition(b"-")[2]
            if number in self._fail:
                raise self._fail[number]


@pytest.fixture(params=[AgentWorker, DirectWorker], ids=["faust", "direct"])
def reader(kafka_settings: Settings, request: pytest.FixtureRequest) -> Reader:
    """A fresh group, for each kind of worker."""
    return Reader(kafka_settings, request.param)


def test_every_record_is_handled_and_committed(reader: Reader) -> None:
    """After a stop each record was handled once and the group has no lag."""

    async def scenario() -> None:
        await reader.produce()
        await reader.run(HandleMine(), until=COUNT)

    asyncio.run(scenario())
    assert len(reader.handled) == COUNT
    assert set(reader.handled.values()) == {1}
    assert reader.lag() == 0


def test_trouble_outside_is_waited_out(reader: Reader) -> None:
    """RetryLater gives the same batch again; nothing is skipped and nothing becomes a dead letter."""

    async def scenario() -> None:
        await reader.produce()
        await reader.run(HandleMine(first=RetryLater("the store is down")), until=COUNT)

    asyncio.run(scenario())
    assert len(reader.handled) == COUNT
    assert reader.letters() == []


@pytest.mark.parametrize("error", [NeverValid("broken", "no good"), ZeroDivisionError("oops")], ids=["named", "bug"])
def test_poison_stops_nothing(reader: Reader, error: Exception) -> None:
    """The bad records become dead letters with their bytes and place; all others are handled."""

    async def scenario() -> None:
        await reader.produce()
        await reader.run(HandleMine(fail={b"7": error, b"80": error}), until=COUNT - 2)

    asyncio.run(scenario())
    assert len(reader.handled) == COUNT - 2
    letters = reader.letters()
    assert [letter.value for letter in letters] == [reader.mark + b"-7", reader.mark + b"-80"]
    assert {letter.reason for letter in letters} == {"broken" if isinstance(error, NeverValid) else "unexpected"}
    assert all(letter.topic == TOPIC and letter.stage == "test" for letter in letters)
    assert reader.lag() == 0


def test_a_stop_in_the_middle_loses_nothing(reader: Reader) -> None:
    """What was in hand is finished, the rest is left to the next member of the group."""

    async def scenario() -> None:
        await reader.produce()
        await reader.run(HandleMine(), until=COUNT, stop_at=60)
        assert len(reader.handled) < COUNT
        await reader.run(HandleMine(), until=COUNT)

    asyncio.run(scenario())
    assert len(reader.handled) == COUNT
    assert set(reader.handled.values()) == {1}


def test_a_stop_while_the_store_is_down_commits_nothing(reader: Reader) -> None:
    """A worker that cannot finish its batch stops all the same; the batch is handled by the next one."""

    class Down(HandleMine):
        async def __call__(self, batch: Sequence[Inbound]) -> None:
            asyncio.get_running_loop().call_later(0.5, stopping.set)
            raise RetryLater("the store is down")

    stopping = asyncio.Event()

    async def scenario() -> None:
        await reader.produce()
        context = Context("worker-down", reader.settings, Control(reader.settings, "unused"))
        agent = Agent("test", TOPIC, Down(), 50, timedelta(milliseconds=50))
        worker = reader.make(context, reader.group, [agent], Producer(reader.settings, "letters"))
        await asyncio.wait_for(worker.run(stopping), 60)
        await reader.run(HandleMine(), until=COUNT)

    asyncio.run(scenario())
    assert len(reader.handled) == COUNT


def test_a_broken_stage_stops_loudly(reader: Reader) -> None:
    """When most records cannot be handled the worker ends, instead of draining the topic into the dead letters."""

    async def scenario() -> None:
        # Enough for each partition to fill the window, whatever other tests left before them.
        await reader.produce(COUNT * 4)
        bad: dict[bytes, Exception] = {b"%d" % n: NeverValid("broken", "a bad deploy") for n in range(COUNT * 4)}
        await reader.run(HandleMine(fail=bad), until=COUNT)

    with pytest.raises(Fatal, match="a bad deploy"):
        asyncio.run(scenario())
    assert reader.lag() > 0


def test_a_handler_that_knows_the_bad_records_is_called_once(reader: Reader) -> None:
    """Unusable names them: they become dead letters together, and the good ones are not handled again."""

    class Knowing(HandleMine):
        async def __call__(self, batch: Sequence[Inbound]) -> None:
            bad = [record for record in batch if (record.value or b"").endswith(b"7")]
            if bad:
                reader.handled.update(record.value or b"" for record in batch)
                raise Unusable([(record, NeverValid("broken", "ends with 7")) for record in bad])

    async def scenario() -> None:
        await reader.produce()
        await reader.run(Knowing(), until=COUNT)

    asyncio.run(scenario())
    assert len(reader.letters()) == COUNT // 10
    assert set(reader.handled.values()) == {1}
    assert reader.lag() == 0
