"""The stage: two agents in one consumer group."""

import asyncio
import gc
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta

from infra.agents import Agent, AgentWorker, Unusable
from infra.errors import NeverValid
from infra.kafka.inbound import Inbound
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.stage import Context, Progress
from infra.telemetry.event import emit
from infra.telemetry.tracing import Trace, read, trace_of
from infra.telemetry.vocabulary.streams import SeedAccepted
from schemas.url import url_id
from streams import seeds
from streams.delivery import links_record
from streams.pages import Pages

GROUP = "odradek-streams"


class Streams:
    """Seeds to links; pages to documents and links."""

    def __init__(self, context: Context) -> None:
        self._producer = Producer(context.settings, f"{context.worker}-producer")
        settings = context.settings.streams
        self._counts: Counter[str] = Counter()
        self._pages = Pages(context, self._producer, self._counts, self._generation)
        self._worker = AgentWorker(
            context,
            GROUP,
            [
                Agent(
                    "streams.pages", TopicName.PAGES, self._pages.handle, settings.batch_pages, settings.batch_within
                ),
                Agent(
                    "streams.seeds",
                    TopicName.SEEDS,
                    self._seeds,
                    settings.batch_seeds,
                    timedelta(milliseconds=50),
                    limit_dead_letters=False,
                ),
            ],
            self._producer,
        )

    def _generation(self) -> object:
        return self._worker.generation()

    async def run(self, stopping: asyncio.Event) -> None:
        """Work until ``stopping``, then drain."""
        # A batch is thousands of short strings and tuples, none of them in a cycle: look for cycles seldom.
        gc.set_threshold(50_000, 20, 100)
        await self._worker.run(stopping)
        await self._pages.close()
        self._producer.flush(timedelta(seconds=5))

    async def _seeds(self, batch: Sequence[Inbound]) -> None:
        """Read the seeds; the links of all are with the broker when this returns."""
        out: list[Outbound] = []
        accepted: list[tuple[SeedAccepted, Trace]] = []
        unusable: list[tuple[Inbound, NeverValid]] = []
        for record in batch:
            try:
                seed = seeds.read(record.value)
                url = seeds.to_url(seed)
            except NeverValid as error:
                unusable.append((record, error))
                continue
            trace = read(record.headers) or trace_of(seed.crawl, url_id(url.href), 0)
            out.append(links_record(seeds.links(seed, url), [trace.child().header()]))
            accepted.append((SeedAccepted(seed.crawl, url.href), trace))
        await self._producer.deliver(out)
        for event, trace in accepted:
            emit(event, trace)
        self._counts["seeds"] += len(accepted)
        if unusable:
            raise Unusable(unusable)

    def ready(self) -> bool:
        """Whether it takes work."""
        return self._worker.ready()

    def progress(self) -> Progress:
        """How far it is."""
        return self._worker.progress()

    def partitions(self) -> list[int]:
        """What it owns of ``pages``."""
        return self._worker.partitions()

    def counts(self) -> Mapping[str, int]:
        """Since the start: ``seeds``, ``documents``, ``changes``, ``links`` told, links ``dropped_...``."""
        return self._counts

    def positions(self) -> Mapping[str, int]:
        """It keeps no state."""
        return {}
