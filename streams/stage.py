"""The stage: two agents in one consumer group."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from infra.agents import Agent, AgentWorker
from infra.errors import NeverValid
from infra.kafka.inbound import Inbound
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.stage import Context, Progress
from infra.telemetry.event import emit
from infra.telemetry.tracing import Trace, read, trace_of
from infra.telemetry.vocabulary.streams import PageCleaned, SeedAccepted
from schemas.records import Links, Page
from schemas.wire import Undecodable, decode, encode
from streams import seeds
from streams.clean import clean
from streams.outlinks import Recent, select

GROUP = "odradek-streams"


class Streams:
    """Seeds to links; pages to documents and links."""

    def __init__(self, context: Context) -> None:
        self._control = context.control
        self._token = context.settings.identity.robots_token
        self._producer = Producer(context.settings, f"{context.worker}-producer")
        settings = context.settings.streams
        self._recent = Recent(settings.recent_links)
        self._counts: Counter[str] = Counter()
        self._worker = AgentWorker(
            context,
            GROUP,
            [
                Agent("streams.pages", TopicName.PAGES, self._pages, settings.batch_pages, settings.batch_within),
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

    async def run(self, stopping: asyncio.Event) -> None:
        """Work until ``stopping``, then drain."""
        await self._worker.run(stopping)
        self._producer.flush(timedelta(seconds=5))

    async def _seeds(self, batch: Sequence[Inbound]) -> None:
        out: list[Outbound] = []
        for record in batch:
            seed = seeds.read(record.value)
            url = seeds.to_url(seed)
            trace = read(record.headers)
            links = seeds.links(seed, url)
            out.append(_links_record(links, trace.child() if trace else None))
            emit(SeedAccepted(seed.crawl, url.href), trace)
        await self._producer.deliver(out)
        self._counts["seeds"] += len(batch)

    async def _pages(self, batch: Sequence[Inbound]) -> None:
        """Clean the pages; every link and document is with the broker when this returns."""
        out: list[Outbound] = []
        told: list[tuple[str, str]] = []
        for record in batch:
            try:
                page = decode(Page, record.value)
            except Undecodable as error:
                raise NeverValid("bad_page", str(error)) from None
            crawl = self._control.crawl(page.crawl)
            trace = read(record.headers) or trace_of(page.crawl, page.url_id, page.visit)
            document, follow = clean(page, self._token, obey=crawl.follow_robots, now=datetime.now(UTC))
            outlinks = select(crawl, page, follow, self._recent)
            out.append(
                Outbound(TopicName.DOCUMENTS, page.url_id, encode(document), [trace.child().header()]),
            )
            for links in outlinks.records:
                out.append(_links_record(links, None))
                told += [(links.crawl, url) for url in links.urls]
            self._count(outlinks.records, outlinks.out_of_scope, outlinks.told_before)
            emit(PageCleaned(page.url, len(document.text), len(document.links), tuple(document.flags)), trace)
            # The heartbeat and the consumer have their turn between two pages, whatever a page costs.
            await asyncio.sleep(0)
        await self._producer.deliver(out)
        self._recent.add(told)
        self._counts["documents"] += len(batch)

    def _count(self, records: list[Links], out_of_scope: int, told_before: int) -> None:
        self._counts["links"] += sum(len(links.urls) for links in records)
        self._counts["links_out_of_scope"] += out_of_scope
        self._counts["links_told_before"] += told_before

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
        """Seeds, documents and links since the start."""
        return self._counts

    def positions(self) -> Mapping[str, int]:
        """It keeps no state."""
        return {}


def _links_record(links: Links, trace: Trace | None) -> Outbound:
    headers = [trace.header()] if trace else []
    return Outbound(TopicName.LINKS, links.host.encode(), encode(links), headers)
