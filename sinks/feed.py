"""One store and the consumer group that feeds it."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial

from infra.agents import Agent, DirectWorker
from infra.errors import NeverValid, RetryLater
from infra.kafka.inbound import Inbound
from infra.kafka.producer import Producer
from infra.kafka.topics import TopicName
from infra.settings.sinks import StoreSettings
from infra.stage import Context, Progress
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.sinks import RowsWritten, StoreIsBack, StoreLeftAlone, StoreUnreachable
from sinks.blocks import blocks, portions
from sinks.breaker import Breaker, State
from sinks.selection import Selection
from sinks.sink import Block, Sink
from sinks.stores import group, make_sink
from sinks.tables import table_of
from sinks.tally import Tally

FIRST_WAIT = timedelta(seconds=0.5)
LONGEST_WAIT = timedelta(seconds=15)


class Feed:
    """From :meth:`run` on, what Kafka has for the store is written to it."""

    def __init__(self, context: Context, name: str, store: StoreSettings, producer: Producer) -> None:
        """Raises :class:`infra.errors.UserError` for a DSN that no store can have."""
        self._context = context
        self._name = name
        self._producer = producer
        self._sink = make_sink(name, store, context.settings)
        self._writer = Writer(name, store, self._sink)
        self._agents = [
            Agent(f"{name}-{topic}", topic, partial(self._writer.write, topic), store.max_records, store.linger)
            for topic in map(TopicName, store.topics)
        ]
        self._worker: DirectWorker | None = None

    async def run(self, stopping: asyncio.Event) -> None:
        """Feed the store until ``stopping``; one that cannot be reached is tried again for ever."""
        try:
            if await self._open(stopping):
                self._worker = DirectWorker(self._context, group(self._name), self._agents, self._producer)
                await self._worker.run(stopping)
        finally:
            self._worker = None
            await self._sink.close()

    async def _open(self, stopping: asyncio.Event) -> bool:
        """Open the store, however long it takes; ``False`` when told to stop before."""
        wait = FIRST_WAIT
        while not stopping.is_set():
            try:
                self._writer.tally.held(await self._sink.open())
            except RetryLater as error:
                emit(StoreUnreachable(self._name, wait.total_seconds(), str(error)))
                with suppress(TimeoutError):
                    await asyncio.wait_for(stopping.wait(), wait.total_seconds())
                wait = min(2 * wait, LONGEST_WAIT)
            else:
                return True
        return False

    def ready(self) -> bool:
        """Whether the store takes rows."""
        return self._worker is not None and self._worker.ready() and self._writer.breaker.state is State.CLOSED

    def progress(self) -> Progress:
        """See :meth:`infra.stage.Stage.progress`."""
        return Progress(0, False) if self._worker is None else self._worker.progress()

    def partitions(self) -> list[int]:
        """What it owns, of whichever topic."""
        return [] if self._worker is None else self._worker.partitions()

    def counts(self) -> Mapping[str, int]:
        """See :meth:`sinks.tally.Tally.counts`."""
        return self._writer.tally.counts()


class Writer:
    """What happens to a batch on its way into the store: decode, select, ask the breaker, write, count."""

    def __init__(self, name: str, store: StoreSettings, sink: Sink) -> None:
        self._name = name
        self._sink = sink
        self._selection = Selection(store)
        self.breaker = Breaker(store.breaker.failures, store.breaker.first_wait, store.breaker.longest_wait)
        self.tally = Tally([TopicName(topic) for topic in store.topics])

    async def write(self, topic: TopicName, batch: Sequence[Inbound]) -> None:
        """All records of ``batch`` that are for the store are in it; raises as :meth:`sinks.sink.Sink.write` does."""
        for portion in portions(batch):
            # Decoding a full batch takes a tenth of a second, and the loop has heartbeats to send.
            cut = self._selection.of(await asyncio.to_thread(blocks, topic, portion))
            began_s = time.monotonic()
            await self._guarded(topic, cut)
            took_s = time.monotonic() - began_s
            rows = self.tally.wrote(topic, cut, datetime.now(UTC))
            if rows:
                size_bytes = sum(len(record.value or b"") for record in portion)
                emit(RowsWritten(self._name, table_of(topic).name, rows, size_bytes, took_s))

    async def _guarded(self, topic: TopicName, cut: Sequence[Block]) -> None:
        wait = self.breaker.wait(time.monotonic())
        if wait is not None:
            raise RetryLater("the store is left alone for a while", wait)
        was_closed = self.breaker.state is State.CLOSED
        try:
            await self._sink.write(topic, cut)
        except RetryLater as error:
            if (rest := self.breaker.failed(time.monotonic())) is not None:
                emit(StoreLeftAlone(self._name, rest.total_seconds(), str(error)))
            raise
        except NeverValid:
            self._is_well(was_closed)
            raise
        except BaseException:
            self.breaker.abandoned()
            raise
        self._is_well(was_closed)

    def _is_well(self, was_closed: bool) -> None:
        self.breaker.succeeded()
        if not was_closed:
            emit(StoreIsBack(self._name))
