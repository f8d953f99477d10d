"""The stage: two agents in one consumer group."""

import asyncio
import gc
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from infra.agents import Agent, AgentWorker, Unusable
from infra.errors import NeverValid
from infra.kafka.inbound import Inbound
from infra.kafka.producer import Headers, Outbound, Producer
from infra.kafka.topics import TopicName
from infra.spool import Spool
from infra.stage import Context, Progress
from infra.telemetry.event import emit
from infra.telemetry.tracing import Trace, read, trace_of
from infra.telemetry.vocabulary.streams import PageCleaned, SeedAccepted, SitemapRead
from schemas.records import Crawl, Decision, Document, Kind, Links, Page
from schemas.url import url_id
from schemas.wire import Undecodable, decode, encode
from streams import seeds
from streams.clean import Way, finish, open_page
from streams.cleaners import installed
from streams.copies import Copies
from streams.isolation import Isolation
from streams.outlinks import Outlinks, Recent, select
from streams.policy import NOINDEX, not_indexed
from streams.rules.source import RulesSource
from streams.sitemap_links import Listed, listed
from streams.sites import Sites

GROUP = "odradek-streams"
DELIVERY_BYTES = 16 * 2**20
"""Of documents that wait for their batch to be delivered; a batch with more goes out in parts."""


class Streams:
    """Seeds to links; pages to documents and links."""

    def __init__(self, context: Context) -> None:
        self._control = context.control
        self._spool = Spool(context.settings)
        self._token = context.settings.identity.robots_token
        self._producer = Producer(context.settings, f"{context.worker}-producer")
        settings = context.settings.streams
        self._recent = Recent(settings.recent_links)
        self._isolation = Isolation(settings.costly_pages_timeout, settings.costly_pages_memory_mib)
        self._copies = Copies(settings.recent_texts)
        self._markdown, self._links = settings.markdown, settings.links
        self._rules = RulesSource(settings.rules)
        self._cleaners = installed()
        self._max_outlinks = settings.max_outlinks
        self._defined: set[str] = set()
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
        # A batch is thousands of short strings and tuples, none of them in a cycle: look for cycles seldom.
        gc.set_threshold(50_000, 20, 100)
        await self._worker.run(stopping)
        await self._isolation.close()
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
            out.append(_links_record(seeds.links(seed, url), [trace.child().header()]))
            accepted.append((SeedAccepted(seed.crawl, url.href), trace))
        await self._producer.deliver(out)
        for event, trace in accepted:
            emit(event, trace)
        self._counts["seeds"] += len(accepted)
        if unusable:
            raise Unusable(unusable)

    async def _pages(self, batch: Sequence[Inbound]) -> None:
        """Clean the pages; every link and document is with the broker when this returns."""
        delivery = _Delivery()
        unusable: list[tuple[Inbound, NeverValid]] = []
        for record in batch:
            try:
                page = decode(Page, record.value)
                if page.body_at is not None:
                    body = await asyncio.to_thread(self._spool.get, page.body_at)
                    page = page.model_copy(update={"body": body})
            except Undecodable as error:
                unusable.append((record, NeverValid("bad_page", str(error))))
                continue
            except NeverValid as error:
                unusable.append((record, error))
                continue
            if page.kind is Kind.SITEMAP:
                delivery.add_listed(await self._list(page))
            else:
                await self._clean(page, read(record.headers), delivery)
            if delivery.size_bytes > DELIVERY_BYTES:
                await self._deliver(delivery)
                delivery = _Delivery()
        await self._deliver(delivery)
        if unusable:
            raise Unusable(unusable)

    async def _clean(self, page: Page, trace: Trace | None, delivery: "_Delivery") -> None:
        crawl = self._control.crawl(page.crawl) if page.crawl in self._defined else await self._ask(page.crawl)
        sites = Sites(self._rules.current(), self._cleaners)
        opened, now = open_page(page), datetime.now(UTC)
        way = Way(self._token, crawl.follow_robots, markdown=self._markdown, sites=sites, links=self._links)
        apart = way.apart(opened)
        document, follow, feeds = await self._isolation.clean(opened, way, now) if apart else finish(opened, way, now)
        trace = trace or trace_of(page.crawl, page.url_id, page.visit)
        if (copy := self._copies.find(document)) is not None:
            field = "near_duplicate_of" if copy.bits else "duplicate_of"
            document = document.model_copy(update={field: copy.url})
        links = select(crawl, page, follow, self._recent, pending=delivery.told, limit=self._max_outlinks)
        if links.over_limit:
            document.flags.append("too_many_outlinks")
        is_kept = not (self._links.noindex == "drop" and way.obey and NOINDEX in document.flags)
        delivery.add(document if is_kept else not_indexed(document, now), document, links, trace)
        if feeds:
            named = select(crawl, page, feeds, self._recent, pending=delivery.told, limit=self._max_outlinks)
            delivery.add_feeds(named)
        # The heartbeat and the consumer have their turn between two pages, whatever a page costs.
        await asyncio.sleep(0)

    async def _list(self, page: Page) -> Listed:
        """What a sitemap names; reading one of the largest takes a second."""
        crawl = self._control.crawl(page.crawl) if page.crawl in self._defined else await self._ask(page.crawl)
        found = await asyncio.to_thread(listed, page, crawl, hreflang=self._links.hreflang == "follow")
        emit(SitemapRead(page.url, found.pages, found.sitemaps, found.out_of_scope, found.flags))
        return found

    async def _ask(self, name: str) -> Crawl:
        """A crawl that is met for the first time: looking for its definition may wait for Kafka."""
        crawl = await asyncio.to_thread(self._control.crawl, name)
        self._defined.add(name)
        return crawl

    async def _deliver(self, delivery: "_Delivery") -> None:
        await self._producer.deliver(delivery.records)
        # Only now: a link that the broker does not have must be told again.
        self._recent.add(delivery.told)
        for event, trace in delivery.cleaned:
            emit(event, trace)
            self._counts.update(
                documents=int(event.kept),
                links=event.told,
                dropped_seen=event.told_before,
                dropped_scope=event.out_of_scope + event.over_limit,
            )

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
        """Since the start: ``seeds``, ``documents``, ``links`` told, links ``dropped_seen`` and ``dropped_scope``."""
        return self._counts

    def positions(self) -> Mapping[str, int]:
        """It keeps no state."""
        return {}


class _Delivery:
    """What a batch of pages gives, until the broker has it."""

    def __init__(self) -> None:
        self.records: list[Outbound] = []
        self.told: set[int] = set()
        self.cleaned: list[tuple[PageCleaned, Trace]] = []
        self.size_bytes = 0

    def add(self, kept: Document | Decision, document: Document, links: Outlinks, trace: Trace) -> None:
        """One page's document, or why there is none, and its links."""
        value = encode(kept)
        self.size_bytes += len(value)
        is_kept = isinstance(kept, Document)
        topic, key = (TopicName.DOCUMENTS, kept.url_id) if is_kept else (TopicName.EVENTS, kept.host.encode())
        self.records.append(Outbound(topic, key, value, [trace.child().header()]))
        # A link's trace is that of its own visit, which the frontier begins.
        self.records += [_links_record(each, []) for each in links.records]
        self.told.update(links.keys)
        event = PageCleaned(
            document.url,
            len(document.text),
            len(document.links),
            told=len(links.keys),
            told_before=links.told_before,
            out_of_scope=links.out_of_scope,
            over_limit=links.over_limit,
            flags=tuple(document.flags),
            kept=is_kept,
            copy="exact" if document.duplicate_of else "near" if document.near_duplicate_of else None,
        )
        self.cleaned.append((event, trace))

    def add_feeds(self, feeds: Outlinks) -> None:
        """The feeds of a page: links, but to no pages."""
        self.records += [_links_record(each.model_copy(update={"kind": Kind.SITEMAP}), []) for each in feeds.records]
        self.told.update(feeds.keys)

    def add_listed(self, found: Listed) -> None:
        """One sitemap's links."""
        records = [_links_record(each, []) for each in found.records]
        self.size_bytes += sum(len(each.value or b"") for each in records)
        self.records += records


def _links_record(links: Links, headers: Headers) -> Outbound:
    return Outbound(TopicName.LINKS, links.host.encode(), encode(links), headers)
