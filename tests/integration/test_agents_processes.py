"""The one agent shape across processes: kills, stops, joins and crashes lose nothing."""

import asyncio
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from infra.agents import Agent, AgentWorker
from infra.kafka.control import Control
from infra.kafka.inbound import Inbound
from infra.kafka.lag import LagReader
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.stage import Context

TOPIC = TopicName.SEEDS
COUNT = 900
PROGRAM = Path(__file__).with_name("agent_process.py")


async def until(condition: Callable[[], bool]) -> None:
    """Return when it holds."""
    while not condition():  # noqa: ASYNC110  # the handler under test is given nothing to signal with
        await asyncio.sleep(0.05)


class Fleet:
    """Worker processes of one group, and the effects that they left."""

    def __init__(self, settings: Settings, directory: Path) -> None:
        self.settings = settings
        self.group = f"fleet-{uuid4().hex[:8]}"
        self.mark = uuid4().hex
        self._directory = directory
        self._workers: list[subprocess.Popen[bytes]] = []

    def start(self) -> subprocess.Popen[bytes]:
        """One more worker."""
        effects = self._directory / f"effects-{len(self._workers)}"
        arguments = [self.settings.kafka_bootstrap_servers or "", self.group, self.mark]
        command = [sys.executable, str(PROGRAM), *arguments, str(effects), str(self._directory)]
        self._workers.append(subprocess.Popen(command))
        return self._workers[-1]

    def produce(self, first: int, count: int) -> None:
        """Records that carry this test's mark."""
        producer = Producer(self.settings, "test")
        records = (Outbound(TOPIC, b"%d" % n, f"{self.mark}-{n}".encode()) for n in range(first, first + count))
        asyncio.run(producer.deliver(records))

    def effects(self) -> Counter[str]:
        """How often each record had its effect."""
        found: Counter[str] = Counter()
        for path in self._directory.glob("effects-*"):
            found.update(path.read_text().split("\n")[:-1])
        return found

    def lag(self) -> int:
        """What the group has not committed."""
        return LagReader(self.settings, {self.group: (TOPIC,)}).read().lag(self.group)[TOPIC]

    def wait(self, condition: Callable[[], bool], timeout: timedelta = timedelta(seconds=60)) -> None:
        """Until it holds."""
        deadline = time.monotonic() + timeout.total_seconds()
        while not condition():
            assert time.monotonic() < deadline, f"{len(self.effects())} of {COUNT} had their effect"
            time.sleep(0.1)

    def end(self) -> None:
        """Stop all that still run."""
        for worker in self._workers:
            worker.kill()
            worker.wait()


@pytest.fixture
def fleet(kafka_settings: Settings, tmp_path: Path) -> Iterator[Fleet]:
    """No worker yet."""
    fleet = Fleet(kafka_settings, tmp_path)
    yield fleet
    fleet.end()


def test_a_kill_in_the_middle_loses_nothing(fleet: Fleet) -> None:
    """After kill -9 another worker does what was not committed; every record has its effect."""
    fleet.produce(0, COUNT)
    worker = fleet.start()
    fleet.wait(lambda: len(fleet.effects()) > 100)
    worker.kill()
    assert len(fleet.effects()) < COUNT
    fleet.start()
    fleet.wait(lambda: len(fleet.effects()) == COUNT)
    fleet.wait(lambda: fleet.lag() == 0)


def test_sigterm_in_the_middle_repeats_nothing(fleet: Fleet) -> None:
    """A stopped worker has finished and committed its batch, so nothing is lost and nothing done twice."""
    fleet.produce(0, COUNT)
    worker = fleet.start()
    fleet.wait(lambda: len(fleet.effects()) > 100)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0
    assert len(fleet.effects()) < COUNT
    fleet.start()
    fleet.wait(lambda: len(fleet.effects()) == COUNT)
    assert set(fleet.effects().values()) == {1}


def test_workers_that_join_and_leave_lose_nothing(fleet: Fleet) -> None:
    """Rebalances with batches in hand repeat a little and lose nothing; offsets reach the end."""
    fleet.produce(0, COUNT // 2)
    first = fleet.start()
    fleet.wait(lambda: len(fleet.effects()) > 100)
    fleet.start()
    fleet.produce(COUNT // 2, COUNT // 2)
    fleet.wait(lambda: len(fleet.effects()) > COUNT // 2)
    fleet.start()
    fleet.wait(lambda: len(fleet.effects()) > COUNT * 2 // 3)
    first.send_signal(signal.SIGTERM)
    fleet.wait(lambda: len(fleet.effects()) == COUNT)
    fleet.wait(lambda: fleet.lag() == 0)


def test_a_consumer_that_crashes_is_replaced(kafka_settings: Settings) -> None:
    """When Faust gives up, a new consumer goes on at the committed offsets; the stage does not end."""
    mark = uuid4().hex.encode()
    seen: set[bytes] = set()

    async def handle(batch: Sequence[Inbound]) -> None:
        seen.update(record.value for record in batch if (record.value or b"").startswith(mark) and record.value)

    async def scenario() -> None:
        producer = Producer(kafka_settings, "test")
        context = Context(f"worker-{mark.decode()}", kafka_settings, Control(kafka_settings, "unused"))
        agent = Agent("test", TOPIC, handle, 50, timedelta(milliseconds=20))
        worker = AgentWorker(context, f"crash-{mark.decode()}", [agent], producer)
        stopping = asyncio.Event()
        work = asyncio.create_task(worker.run(stopping))
        await producer.deliver([Outbound(TOPIC, None, mark + b"-1")])
        await until(lambda: len(seen) >= 1)
        await worker._consumer._app.consumer.crash(ConnectionError("the broker went away"))
        await producer.deliver([Outbound(TOPIC, None, mark + b"-2")])
        await until(lambda: len(seen) >= 2)
        stopping.set()
        await work

    asyncio.run(asyncio.wait_for(scenario(), 60))


def test_two_groups_share_a_process(kafka_settings: Settings) -> None:
    """Several Faust apps run in one event loop, and each group sees every record."""
    mark = uuid4().hex.encode()
    seen: Counter[str] = Counter()

    def handler(group: str) -> Callable[[Sequence[Inbound]], "asyncio.Future[None]"]:
        async def handle(batch: Sequence[Inbound]) -> None:
            seen[group] += sum((record.value or b"").startswith(mark) for record in batch)

        return lambda batch: asyncio.ensure_future(handle(batch))

    async def scenario() -> None:
        producer = Producer(kafka_settings, "test")
        context = Context(f"worker-{mark.decode()}", kafka_settings, Control(kafka_settings, "unused"))
        stopping = asyncio.Event()
        groups = [f"shared-{name}-{mark.decode()}" for name in ("a", "b")]
        workers = [
            AgentWorker(context, group, [Agent("t", TOPIC, handler(group), 50, timedelta(milliseconds=20))], producer)
            for group in groups
        ]
        work = [asyncio.create_task(worker.run(stopping)) for worker in workers]
        await producer.deliver([Outbound(TOPIC, b"%d" % n, mark) for n in range(100)])
        await until(lambda: sorted(seen.values()) == [100, 100])
        assert all(worker.ready() and worker.partitions() for worker in workers)
        stopping.set()
        await asyncio.gather(*work)

    asyncio.run(asyncio.wait_for(scenario(), 60))
