"""The fetchers between a real Kafka and a real, small web."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
import uvloop
from aiohttp import web
from confluent_kafka import OFFSET_BEGINNING, Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from fetchers.stage import GROUP, Fetchers
from infra.kafka.clients import common_config
from infra.kafka.intake import inbound_of
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import FetcherSettings, Settings
from infra.stage import Context
from infra.telemetry.tracing import Trace, read, trace_of
from schemas.outcomes import Outcome
from schemas.records import Fetch, Kind, Page, Request
from schemas.url import url_id
from schemas.wire import decode, encode

pytestmark = pytest.mark.timeout(120)


@dataclass
class Site:
    """A small web that counts what it is asked for."""

    port: int = 0
    slow: asyncio.Event = field(default_factory=asyncio.Event)
    hits: list[tuple[str, float]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.hits.append((request.path, time.monotonic()))
        if request.path.startswith("/slow"):
            await asyncio.wait_for(self.slow.wait(), 60)
        if request.path == "/moved":
            return web.Response(status=302, headers={"Location": "/page"})
        return web.Response(text=f"<title>{request.path}</title>", content_type="text/html")


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[Site]:
    """The site on a free port of loopback."""
    site = Site()
    app = web.Application()
    app.router.add_get("/{tail:.*}", site.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    site.port = runner.addresses[0][1]
    try:
        yield site
    finally:
        site.slow.set()
        await runner.cleanup()


def request(url: str, crawl: str, delay_ms: int = 0, kind: Kind = Kind.PAGE) -> Request:
    """A request as the frontier releases it."""
    host = url.split("/")[2]
    return Request(
        crawl=crawl,
        url=url,
        url_id=url_id(url),
        host=host,
        kind=kind,
        lease=uuid4().hex,
        visit=0,
        attempt=0,
        depth=0,
        hops=0,
        parent=None,
        delay_ms=delay_ms,
        robots=None,
        released_at=datetime.now(UTC),
    )


@pytest.fixture
def settings(kafka_settings: Settings) -> Settings:
    """Fetchers that may reach loopback."""
    fetchers = FetcherSettings(
        allow_networks=("127.0.0.0/8",),  # type: ignore[arg-type]  # pydantic makes networks of it
        resolve={"*.fetchers.test": "127.0.0.1"},
        drain=timedelta(seconds=3),
    )
    return kafka_settings.model_copy(update={"fetchers": fetchers})


def release(settings: Settings, requests: list[Request]) -> None:
    """Write requests to ``urls``."""
    producer = Producer(settings, "test")
    for each in requests:
        trace = trace_of(each.crawl, each.url_id, each.visit)
        producer.send(Outbound(TopicName.URLS, each.host.encode(), encode(each), [trace.header()]), lambda _error: None)
    assert producer.flush(timedelta(seconds=20)) == 0


class Tap:
    """Reads what one crawl adds to a topic."""

    def __init__(self, settings: Settings, topic: TopicName) -> None:
        self._model = {TopicName.FETCHES: Fetch, TopicName.PAGES: Page}[topic]
        self._consumer = Consumer(common_config(settings, "tap") | {"group.id": f"tap-{uuid4().hex}"})
        partitions = self._consumer.list_topics(topic.value, timeout=10).topics[topic.value].partitions
        self._consumer.assign([TopicPartition(topic.value, number, OFFSET_BEGINNING) for number in partitions])
        self.found: list[Fetch | Page] = []
        self.traces: list[Trace] = []

    def read(self, crawl: str, wanted: int, timeout_s: float = 30) -> None:
        """Return when there are as many records of the crawl as wanted."""
        deadline = time.monotonic() + timeout_s
        while len(self.found) < wanted:
            assert time.monotonic() < deadline, f"only {len(self.found)} of {wanted} came"
            message = self._consumer.poll(0.1)
            if message is None or message.error() is not None:
                continue
            inbound = inbound_of(message)
            record = decode(self._model, inbound.value)
            if record.crawl == crawl:
                self.found.append(record)
                self.traces += [trace for trace in [read(inbound.headers)] if trace is not None]


@contextlib.asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Fetchers]:
    """The stage in this process; drained at the end."""
    stage = Fetchers(Context(f"fetchers-test-{uuid4().hex[:6]}", settings, None))  # type: ignore[arg-type]  # unused
    stopping = asyncio.Event()
    work = asyncio.create_task(stage.run(stopping))
    try:
        async with asyncio.timeout(30):
            while not stage.ready() and not work.done():
                await asyncio.sleep(0.05)
        yield stage
    finally:
        stopping.set()
        await work


def lag(settings: Settings) -> int:
    """Records of ``urls`` that the group has not committed."""
    admin = AdminClient(common_config(settings, "lag"))
    [future] = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(GROUP)]).values()
    consumer = Consumer(common_config(settings, "lag") | {"group.id": "lag"})
    total = 0
    for place in future.result().topic_partitions or []:
        total += consumer.get_watermark_offsets(place, timeout=10)[1] - max(place.offset, 0)
    consumer.close()
    return total


def test_requests_become_pages_and_fetches(settings: Settings) -> None:
    """Each request gives one fetch, each good one a page, with the same id and the trace carried on."""
    crawl = f"c{uuid4().hex[:8]}"
    fetches, pages = Tap(settings, TopicName.FETCHES), Tap(settings, TopicName.PAGES)

    async def scenario() -> list[Request]:
        async with serving() as site, running(settings):
            wanted = [request(f"http://h{n}.fetchers.test:{site.port}/p{n}", crawl) for n in range(20)]
            wanted.append(request(f"http://r.fetchers.test:{site.port}/moved", crawl))
            wanted.append(request("http://10.0.0.1/", crawl))
            await asyncio.to_thread(release, settings, wanted)
            await asyncio.to_thread(fetches.read, crawl, 22)
            await asyncio.to_thread(pages.read, crawl, 20)
            return wanted

    wanted = uvloop.run(scenario())
    results = {fetch.url: fetch for fetch in fetches.found if isinstance(fetch, Fetch)}
    assert results.keys() == {each.url for each in wanted}
    assert results[wanted[20].url].redirect_to == wanted[20].url.replace("moved", "page")
    assert results[wanted[21].url].outcome is Outcome.BLOCKED_ADDRESS
    stored = {page.url: page for page in pages.found if isinstance(page, Page)}
    assert stored.keys() == {each.url for each in wanted[:20]}
    for url, page in stored.items():
        assert page.fetch_id == results[url].fetch_id
        assert page.body.startswith(b"<title>/p")
    assert {trace.trace_id for trace in fetches.traces} == {
        trace_of(each.crawl, each.url_id, each.visit).trace_id for each in wanted
    }
    assert lag(settings) == 0
