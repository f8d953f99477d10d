"""What Kafka has kept, written to a store once more, beside the group that feeds it."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import islice

from infra.agents import Agent
from infra.agents.settling import GivenUp, Settler
from infra.kafka.group_offsets import Start
from infra.kafka.inbound import Inbound
from infra.kafka.partition_reader import records_between
from infra.kafka.producer import Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.settings.sinks import StoreSettings
from sinks.feed import Writer
from sinks.stores import make_sink

Progress = Callable[[int], None]
"""Called with how many records were read so far."""


@dataclass
class Replay:
    """Reads each partition from ``start`` to ``until`` (or to its present end) and writes what the store is for.

    The store folds repeats by its keys, so it may be the one that has the rows already. Records that it can never hold
    become the same dead letters as before. No group's offsets move.
    """

    settings: Settings
    name: str
    """Of the store: its dead letters are told under it."""
    store: StoreSettings
    start: Start
    until: datetime | None = None
    read: int = field(default=0, init=False)

    async def run(
        self, partitions: Mapping[str, int], stopping: asyncio.Event, progress: Progress
    ) -> Mapping[str, int]:
        """The rows by table that the store was given. Raises what :meth:`sinks.sink.Sink.open` raises.

        Trouble of the store is waited for. ``stopping`` ends it with :class:`infra.agents.settling.GivenUp`.
        """
        sink = make_sink(self.name, self.store, self.settings)
        writer = Writer(self.name, self.store, sink)
        producer = Producer(self.settings, "odradek-replay")
        try:
            await sink.open()
            for topic in map(TopicName, self.store.topics):
                agent = Agent(
                    f"{self.name}-{topic}",
                    topic,
                    partial(writer.write, topic),
                    self.store.max_records,
                    self.store.linger,
                )
                settler = Settler(agent, producer)
                for number in range(partitions.get(topic, 0)):
                    await self._partition(topic, number, settler, stopping, progress)
        finally:
            await sink.close()
        return {name: rows for name, rows in writer.tally.counts().items() if name.startswith("rows_")}

    async def _partition(
        self, topic: TopicName, number: int, settler: Settler, stopping: asyncio.Event, progress: Progress
    ) -> None:
        first = self.start.of((topic, number))
        if first is None:
            return
        records = records_between(self.settings, topic, number, first, self.until)
        while batch := await asyncio.to_thread(self._next, records):
            if stopping.is_set():
                raise GivenUp
            await settler.settle(batch, stopping)
            self.read += len(batch)
            progress(self.read)

    def _next(self, records: Iterator[Inbound]) -> list[Inbound]:
        return list(islice(records, self.store.max_records))
