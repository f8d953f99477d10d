"""The agent of the pages: a batch of raw pages goes in, and is with the broker as documents, links and changes."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from infra.agents import Unusable
from infra.errors import NeverValid
from infra.kafka.inbound import Inbound
from infra.kafka.producer import Producer
from infra.spool import Spool
from infra.stage import Context
from infra.telemetry.event import emit
from infra.telemetry.tracing import read, trace_of
from schemas.records import Crawl, Document, Page
from schemas.versions import Change
from schemas.wire import Undecodable, decode
from streams.changes import change, comparable, version_of
from streams.clean import finish
from streams.cleaners import installed
from streams.copies import Copies
from streams.delivery import Delivery
from streams.isolation import Isolation
from streams.opened import Way, open_page
from streams.outlinks import Recent, select
from streams.rules.source import RulesSource
from streams.sites import Sites
from streams.versions import Versions, key_of

DELIVERY_BYTES = 16 * 2**20
"""Of documents that wait for their batch to be delivered; a batch with more goes out in parts."""


class Pages:
    """Handles batches of ``pages``, one after the other."""

    def __init__(
        self, context: Context, producer: Producer, counts: Counter[str], generation: Callable[[], object]
    ) -> None:
        """``generation`` is another one whenever partitions may have changed hands. Raises :class:`UserError`."""
        settings = context.settings.streams
        self._control = context.control
        self._producer = producer
        self._counts = counts
        self._generation = generation
        self._spool = Spool(context.settings)
        self._token = context.settings.identity.robots_token
        self._recent = Recent(settings.recent_links)
        self._copies = Copies(settings.recent_texts)
        self._versions = Versions(context.settings, f"{context.worker}-versions") if settings.changes else None
        self._isolation = Isolation(settings.costly_pages_timeout, settings.costly_pages_memory_mib)
        self._rules = RulesSource(settings.rules)
        self._cleaners = installed()
        self._markdown = settings.markdown
        self._max_outlinks = settings.max_outlinks
        self._defined: set[str] = set()

    async def handle(self, batch: Sequence[Inbound]) -> None:
        """Clean the pages; every link, document and change is with the broker when this returns."""
        if self._versions is not None:
            owned, generation = {record.partition for record in batch}, self._generation()
            if not self._versions.current(owned, generation):
                await asyncio.to_thread(self._versions.own, owned, generation)
        delivery = Delivery()
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
            await self._clean(page, record, delivery)
            if delivery.size_bytes > DELIVERY_BYTES:
                await self._deliver(delivery)
                delivery = Delivery()
        await self._deliver(delivery)
        if unusable:
            raise Unusable(unusable)

    async def close(self) -> None:
        """Let go of the process for costly pages."""
        await self._isolation.close()
        if self._versions is not None:
            self._versions.close()

    async def _clean(self, page: Page, record: Inbound, delivery: Delivery) -> None:
        crawl = self._control.crawl(page.crawl) if page.crawl in self._defined else await self._ask(page.crawl)
        sites = Sites(self._rules.current(), self._cleaners)
        opened, now = open_page(page), datetime.now(UTC)
        way = Way(self._token, crawl.follow_robots, markdown=self._markdown, sites=sites)
        apart = way.apart(opened)
        document, follow = await self._isolation.clean(opened, way, now) if apart else finish(opened, way, now)
        if (copy := self._copies.find(document)) is not None:
            field = "near_duplicate_of" if copy.bits else "duplicate_of"
            document = document.model_copy(update={field: copy.url})
        links = select(crawl, page, follow, self._recent, pending=delivery.told, limit=self._max_outlinks)
        if links.over_limit:
            document.flags.append("too_many_outlinks")
        found = self._change(document, record.partition, delivery)
        trace = read(record.headers) or trace_of(page.crawl, page.url_id, page.visit)
        delivery.add(document, links, trace, found)
        # The heartbeat and the consumer have their turn between two pages, whatever a page costs.
        await asyncio.sleep(0)

    def _change(self, document: Document, partition: int, delivery: Delivery) -> Change | None:
        """What differs from the former version; remembers the new one where there is something to remember."""
        if self._versions is None or not comparable(document):
            return None
        now, key = version_of(document), key_of(document.crawl, document.url_id)
        former = delivery.versions.get((partition, key)) or self._versions.former(partition, key)
        if former is None or former.cleaner != now.cleaner:
            # What another cleaner reads otherwise is no change of the page.
            delivery.remember(partition, now)
            return None
        found = change(former, now, document.host)
        if found is not None:
            delivery.remember(partition, now)
        return found

    async def _ask(self, name: str) -> Crawl:
        """A crawl that is met for the first time: looking for its definition may wait for Kafka."""
        crawl = await asyncio.to_thread(self._control.crawl, name)
        self._defined.add(name)
        return crawl

    async def _deliver(self, delivery: Delivery) -> None:
        """1. Documents, changes, links. 2. Versions, so that a crash between both tells a change twice, never not."""
        await self._producer.deliver(delivery.records)
        # Only now: a link that the broker does not have must be told again.
        self._recent.add(delivery.told)
        if self._versions is not None and delivery.versions:
            records = delivery.version_records()
            await self._producer.deliver(record for _, record in records)
            self._versions.put(records)
        for event, trace in delivery.cleaned:
            emit(event, trace)
            self._counts.update(
                documents=1,
                links=event.told,
                dropped_seen=event.told_before,
                dropped_scope=event.out_of_scope + event.over_limit,
                changes=bool(event.changed),
            )
