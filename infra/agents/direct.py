"""The same agents on librdkafka alone: for a stage that only hands records on, where Faust costs more than the work."""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any

from infra.agents.agent import Agent
from infra.agents.settling import GivenUp, Settler
from infra.errors import Fatal
from infra.kafka.intake import Intake, IntakeLimits, Received
from infra.kafka.lag import Place
from infra.kafka.producer import Producer
from infra.stage import Context, Progress


class DirectWorker:
    """The agents of one consumer group, from :meth:`run` on. Settles batches exactly as ``AgentWorker`` does."""

    def __init__(self, context: Context, group: str, agents: Sequence[Agent], producer: Producer) -> None:
        self._queues = {agent.topic.value: _Queue(agent, Settler(agent, producer)) for agent in agents}
        # Room for the batch in hand and for the next one of the largest agent.
        room = 2 * max(agent.max_records for agent in agents)
        topics = [agent.topic for agent in agents]
        self._intake = Intake(context.settings, context.worker, group, topics, IntakeLimits(room))
        self._closing = asyncio.Event()
        self._joined = False
        self._finished = 0

    async def run(self, stopping: asyncio.Event) -> None:
        """Work until ``stopping``; then finish the batches in hand, commit and leave the group.

        Raises :class:`Fatal` when the stage cannot go on, :class:`UserError` when Kafka refuses us.
        """
        self._intake.start(self._take, self._changed)
        stop: asyncio.Future[Any] = asyncio.ensure_future(stopping.wait())
        work: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._feed(each)) for each in self._queues.values()]
        try:
            await asyncio.wait({stop, self._intake.failed, *work}, return_when=asyncio.FIRST_COMPLETED)
            self._closing.set()
            self._intake.drain()
            await asyncio.gather(*work)
        finally:
            stop.cancel()
            for each in work:
                each.cancel()
            left = await asyncio.to_thread(self._intake.close)
        if self._intake.failed.done():
            self._intake.failed.result()
        if not left:
            raise Fatal("the consumer did not leave its group in time")

    async def _feed(self, queue: "_Queue") -> None:
        """Settle one batch after the other, until closing."""
        while batch := await queue.batch(self._closing):
            try:
                await queue.settler.settle([each.record for each in batch], self._closing)
            except GivenUp:
                return
            for each in batch:
                self._intake.done(each)
            self._finished += len(batch)

    def _take(self, batch: list[Received]) -> None:
        for each in batch:
            self._queues[each.record.topic].put(each)

    def _changed(self, gone: set[Place], *, lost: bool) -> None:
        """What was not begun of a partition that goes is its next owner's."""
        del lost
        self._joined = True
        for queue in self._queues.values():
            queue.drop(gone)

    def ready(self) -> bool:
        """Whether it is a member of its group."""
        return self._joined and not self._closing.is_set()

    def progress(self) -> Progress:
        """Records done and tries made, and whether any wait."""
        tries = sum(queue.settler.tries for queue in self._queues.values())
        return Progress(self._finished + tries, self._intake.in_flight > 0 or self._intake.behind)

    def partitions(self) -> list[int]:
        """What it owns, of whichever topic."""
        return sorted(set(self._intake.partitions()))


class _Queue:
    """Records of one agent that were read and not begun."""

    def __init__(self, agent: Agent, settler: Settler) -> None:
        self.settler = settler
        self._agent = agent
        self._waiting: deque[Received] = deque()
        self._news = asyncio.Event()

    def put(self, received: Received) -> None:
        self._waiting.append(received)
        self._news.set()

    def drop(self, gone: set[Place]) -> None:
        self._waiting = deque(each for each in self._waiting if (each.record.topic, each.record.partition) not in gone)

    async def batch(self, closing: asyncio.Event) -> list[Received]:
        """The next records: as many as may be, or what came within the agent's time; none when closing."""
        await self._wait(closing, 1, None)
        await self._wait(closing, self._agent.max_records, self._agent.within.total_seconds())
        if closing.is_set():
            return []
        count = min(len(self._waiting), self._agent.max_records)
        # Whatever was dropped meanwhile leaves nothing to do: then wait again.
        return [self._waiting.popleft() for _ in range(count)] or await self.batch(closing)

    async def _wait(self, closing: asyncio.Event, count: int, within_s: float | None) -> None:
        loop = asyncio.get_running_loop()
        until_s = None if within_s is None else loop.time() + within_s
        stop = asyncio.ensure_future(closing.wait())
        while len(self._waiting) < count and not closing.is_set():
            left_s = None if until_s is None else until_s - loop.time()
            if left_s is not None and left_s <= 0:
                break
            self._news.clear()
            news = asyncio.ensure_future(self._news.wait())
            await asyncio.wait({stop, news}, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            news.cancel()
        stop.cancel()
