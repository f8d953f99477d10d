"""The stage: every configured store with a consumer group of its own, in one process."""

import asyncio
import gc
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta

from infra.agents import Agent, DirectWorker
from infra.errors import RetryLater, UserError
from infra.kafka.inbound import Inbound
from infra.kafka.producer import Producer
from infra.kafka.topics import TopicName
from infra.settings.sinks import StoreSettings
from infra.stage import Context, Progress
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.sinks import StoreUnreachable
from sinks.blocks import blocks, portions
from sinks.sink import Sink
from sinks.stores import group, make_sink

FIRST_WAIT = timedelta(seconds=0.5)
LONGEST_WAIT = timedelta(seconds=15)


class Sinks:
    """See :mod:`sinks` for the movement; :class:`infra.stage.Stage` for the methods."""

    def __init__(self, context: Context) -> None:
        stores = context.settings.sinks.stores
        if not stores:
            raise UserError("no store is configured: set sinks.stores")
        producer = Producer(context.settings, f"{context.worker}-dead-letters")
        self._feeds = [_Feed(context, name, store, producer) for name, store in stores.items()]

    async def run(self, stopping: asyncio.Event) -> None:
        """Feed every store until ``stopping`` is set. A store that cannot be reached is tried again for ever."""
        # A batch is thousands of short lists of strings, none of them in a cycle: look for cycles seldom.
        gc.set_threshold(100_000, 50, 100)
        tasks = [asyncio.create_task(feed.run(stopping)) for feed in self._feeds]
        try:
            await asyncio.gather(*tasks)
        finally:
            # One that cannot go on ends the process, and the others let go of their stores first.
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def ready(self) -> bool:
        """Whether every store takes rows."""
        return all(feed.ready() for feed in self._feeds)

    def progress(self) -> Progress:
        """Records written by all, and whether any waits."""
        found = [feed.progress() for feed in self._feeds]
        return Progress(sum(each.finished for each in found), any(each.waiting for each in found))

    def partitions(self) -> list[int]:
        """The union over the stores."""
        return sorted({partition for feed in self._feeds for partition in feed.partitions()})

    def counts(self) -> Mapping[str, int]:
        """The figures of the stores; rows of several stores of a kind add up."""
        total: Counter[str] = Counter()
        for feed in self._feeds:
            total.update(feed.counts())
        return total

    def positions(self) -> Mapping[str, int]:
        """None: what a store has is told by its group's committed offsets."""
        return {}


class _Feed:
    """One store and the group that feeds it."""

    def __init__(self, context: Context, name: str, store: StoreSettings, producer: Producer) -> None:
        self._name = name
        self._sink = make_sink(name, store, context.settings)
        agents = [
            Agent(f"{name}-{topic}", topic, _writer(self._sink, topic), store.max_records, store.linger)
            for topic in map(TopicName, store.topics)
        ]
        self._worker = DirectWorker(context, group(name), agents, producer)
        self._opened = False

    async def run(self, stopping: asyncio.Event) -> None:
        if not await self._open(stopping):
            return
        try:
            await self._worker.run(stopping)
        finally:
            self._opened = False
            await self._sink.close()

    async def _open(self, stopping: asyncio.Event) -> bool:
        """Open the store, however long it takes; ``False`` when told to stop before."""
        wait = FIRST_WAIT
        while not stopping.is_set():
            try:
                await self._sink.open()
            except RetryLater as error:
                emit(StoreUnreachable(self._name, wait.total_seconds(), str(error)))
                with suppress(TimeoutError):
                    await asyncio.wait_for(stopping.wait(), wait.total_seconds())
                wait = min(2 * wait, LONGEST_WAIT)
            else:
                self._opened = True
                return True
        return False

    def ready(self) -> bool:
        return self._opened and self._worker.ready()

    def progress(self) -> Progress:
        return self._worker.progress()

    def partitions(self) -> list[int]:
        return self._worker.partitions()

    def counts(self) -> Mapping[str, int]:
        return self._sink.counts()


def _writer(sink: Sink, topic: TopicName) -> Callable[[Sequence[Inbound]], Awaitable[None]]:
    async def write(batch: Sequence[Inbound]) -> None:
        for portion in portions(batch):
            # Decoding a full batch takes a tenth of a second, and the loop has heartbeats to send.
            await sink.write(topic, await asyncio.to_thread(blocks, topic, portion))

    return write
