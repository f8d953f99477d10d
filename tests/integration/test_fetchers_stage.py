"""The fetchers between a real Kafka and a real, small web."""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
import uvloop
from aiohttp import web
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from fetchers.stage import GROUP, Fetchers
from infra.kafka.clients import common_config
from infra.kafka.inbound import Inbound
from infra.kafka.intake import inbound_of
from infra.kafka.lag import LagReader
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import FetcherSettings, Settings
from infra.stage import Context
from infra.telemetry.tracing import Trace, read, trace_of
from schemas.outcomes import Outcome
from schemas.records import DeadLetter, Fetch, Kind, Page, Request
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
        self._topic = topic
        self._consumer = Consumer(common_config(settings, "tap") | {"group.id": f"tap-{uuid4().hex}"})
        partitions = self._consumer.list_topics(topic.value, timeout=10).topics[topic.value].partitions
        self._consumer.assign([TopicPartition(topic.value, number, OFFSET_BEGINNING) for number in partitions])
        self.found: list[Fetch | Page] = []
        self.letters: list[DeadLetter] = []
        self.traces: list[Trace] = []

    def read(self, crawl: str, wanted: int) -> None:
        """Return when there are as many records of the crawl as wanted."""
        self._read_until(crawl, lambda: len(self.found) >= wanted)

    def read_urls(self, crawl: str, wanted: set[str]) -> None:
        """Return when there is a record of each URL."""
        self._read_until(crawl, lambda: {each.url for each in self.found} >= wanted)

    def read_letters(self, key: bytes, wanted: int) -> None:
        """Return when there are as many dead letters under the key as wanted."""
        for inbound in self._records(lambda: len(self.letters) >= wanted):
            if inbound.key == key:
                self.letters.append(decode(DeadLetter, inbound.value))

    def _read_until(self, crawl: str, is_enough: Callable[[], bool]) -> None:
        for inbound in self._records(is_enough):
            record: Fetch | Page
            record = decode(Fetch, inbound.value) if self._topic is TopicName.FETCHES else decode(Page, inbound.value)
            if record.crawl == crawl:
                self.found.append(record)
                self.traces += [trace for trace in [read(inbound.headers)] if trace is not None]

    def _records(self, is_enough: Callable[[], bool]) -> Iterator[Inbound]:
        deadline = time.monotonic() + 60
        while not is_enough():
            assert time.monotonic() < deadline, f"only {len(self.found) + len(self.letters)} records came"
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                yield inbound_of(message)


@contextlib.asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Fetchers]:
    """The stage in this process; drained at the end."""
    stage = Fetchers(Context(f"fetchers-test-{uuid4().hex[:6]}", settings, None))  # type: ignore[arg-type]  # unused
    stopping = asyncio.Event()
    work = asyncio.create_task(stage.run(stopping))
    try:
        async with asyncio.timeout(30):
            while not stage.ready() and not work.done():  # noqa: ASYNC110  # the stage is asked, as the runner asks it
                await asyncio.sleep(0.05)
        yield stage
    finally:
        stopping.set()
        await work


@contextlib.asynccontextmanager
async def process(settings: Settings, **more: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """The stage as a process of its own; killed at the end if it still lives."""
    environment = {
        **os.environ,
        "KAFKA_BOOTSTRAP_SERVERS": settings.kafka_bootstrap_servers or "",
        "ODRADEK_DATA_DIR": str(settings.data_dir),
        "ODRADEK_KAFKA__SESSION_TIMEOUT": "PT6S",
        "ODRADEK_KAFKA__HEARTBEAT_INTERVAL": "PT1S",
        "ODRADEK_FETCHERS__ALLOW_NETWORKS": '["127.0.0.0/8"]',
        "ODRADEK_FETCHERS__RESOLVE": '{"*.fetchers.test": "127.0.0.1"}',
        **more,
    }
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "infra.cli", "run", "fetchers", env=environment, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield started
    finally:
        if started.returncode is None:
            started.kill()
            await started.wait()


async def asked(site: Site, wanted: int) -> None:
    """Return when the site was asked so often."""
    async with asyncio.timeout(60):
        while len(site.hits) < wanted:  # noqa: ASYNC110  # the site counts, it does not tell
            await asyncio.sleep(0.02)


def lag(settings: Settings) -> int:
    """Records of ``urls`` that the group has not committed."""
    offsets = LagReader(settings, {GROUP: (TopicName.URLS,)}).read()
    return sum(offsets.lag(GROUP).values())


def is_caught_up(settings: Settings, timeout_s: float = 20) -> bool:
    """Whether the group commits all there is, in time."""
    deadline = time.monotonic() + timeout_s
    while (left := lag(settings)) and time.monotonic() < deadline:
        time.sleep(0.2)
    return left == 0


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


def test_a_kill_in_mid_fetch_loses_nothing(settings: Settings) -> None:
    """After kill -9 with requests under way another worker fetches them again: every one has its result and page."""
    crawl = f"c{uuid4().hex[:8]}"
    fetches, pages = Tap(settings, TopicName.FETCHES), Tap(settings, TopicName.PAGES)

    async def scenario() -> set[str]:
        async with serving() as site:
            wanted = [request(f"http://k{n}.fetchers.test:{site.port}/slow/{n}", crawl) for n in range(30)]
            wanted += [request(f"http://q{n}.fetchers.test:{site.port}/{n}", crawl) for n in range(30)]
            async with process(settings) as killed:
                await asyncio.to_thread(release, settings, wanted)
                await asked(site, 45)
                killed.kill()
                await killed.wait()
            site.slow.set()
            async with process(settings):
                await asyncio.to_thread(fetches.read_urls, crawl, {each.url for each in wanted})
                await asyncio.to_thread(pages.read_urls, crawl, {each.url for each in wanted})
                assert await asyncio.to_thread(is_caught_up, settings)
            return {each.url for each in wanted}

    wanted = uvloop.run(scenario())
    assert {fetch.url for fetch in fetches.found} == wanted
    assert {page.url for page in pages.found} == wanted


def test_a_stop_finishes_what_is_under_way_and_leaves_the_rest(settings: Settings) -> None:
    """SIGTERM: what was asked of a site is delivered and committed, what was not is left for others; nothing twice."""
    crawl = f"c{uuid4().hex[:8]}"
    fetches = Tap(settings, TopicName.FETCHES)

    async def scenario() -> tuple[int, int, list[str]]:
        async with serving() as site:
            wanted = [request(f"http://s{n}.fetchers.test:{site.port}/slow/{n}", crawl) for n in range(12)]
            async with process(settings, ODRADEK_FETCHERS__CONCURRENCY="5") as stopped:
                await asyncio.to_thread(release, settings, wanted)
                await asked(site, 5)
                stopped.terminate()
                await asyncio.sleep(0.3)
                site.slow.set()
                code = await asyncio.wait_for(stopped.wait(), 30)
            left = await asyncio.to_thread(lag, settings)
            async with running(settings):
                await asyncio.to_thread(fetches.read, crawl, 12)
            return code, left, [path for path, _ in site.hits]

    code, left, paths = uvloop.run(scenario())
    assert (code, left) == (0, 7)
    assert sorted(paths) == sorted({f"/slow/{n}" for n in range(12)})
    assert len({fetch.url for fetch in fetches.found}) == len(fetches.found) == 12
    assert lag(settings) == 0


def test_a_stop_gives_up_what_does_not_end(settings: Settings) -> None:
    """A request that outlasts the drain is aborted without a result, and is still there for the next worker."""
    crawl = f"c{uuid4().hex[:8]}"
    fetches = Tap(settings, TopicName.FETCHES)
    impatient = settings.fetchers.model_copy(update={"drain": timedelta(seconds=0.2)})

    async def scenario() -> int:
        async with serving() as site:
            wanted = [request(f"http://g{n}.fetchers.test:{site.port}/slow/{n}", crawl) for n in range(3)]
            async with running(settings.model_copy(update={"fetchers": impatient})):
                await asyncio.to_thread(release, settings, wanted)
                await asked(site, 3)
            left = await asyncio.to_thread(lag, settings)
            site.slow.set()
            async with running(settings):
                await asyncio.to_thread(fetches.read, crawl, 3)
            return left

    assert uvloop.run(scenario()) == 3
    assert {fetch.outcome for fetch in fetches.found if isinstance(fetch, Fetch)} == {Outcome.OK}


def test_what_a_former_owner_may_have_tried_waits_one_delay(settings: Settings) -> None:
    """Records that were there at the assignment are fetched one delay of their host later, two of a host apart."""
    crawl = f"c{uuid4().hex[:8]}"
    fetches = Tap(settings, TopicName.FETCHES)

    async def scenario() -> tuple[float, list[float]]:
        async with serving() as site:
            url = f"http://w.fetchers.test:{site.port}"
            await asyncio.to_thread(release, settings, [request(f"{url}/{n}", crawl, delay_ms=900) for n in range(2)])
            began_s = time.monotonic()
            async with running(settings):
                await asyncio.to_thread(fetches.read, crawl, 2)
            return began_s, [at_s for _, at_s in site.hits]

    began_s, [first_s, second_s] = uvloop.run(scenario())
    assert first_s - began_s >= 0.9
    # The site's own clock reads a moment after the request was sent.
    assert second_s - first_s >= 0.88


def test_what_is_no_request_becomes_a_dead_letter(settings: Settings) -> None:
    """Poison is kept with its place and reason, and the partition moves on."""
    letters = Tap(settings, TopicName.DEAD_LETTERS)
    key = uuid4().hex.encode()
    producer = Producer(settings, "test")
    for value in (b"no avro", None, b"", encode(request("http://h.test/", "c"))[:-9]):
        producer.send(Outbound(TopicName.URLS, key, value), lambda _error: None)
    assert producer.flush(timedelta(seconds=20)) == 0

    async def scenario() -> None:
        async with running(settings):
            await asyncio.to_thread(letters.read_letters, key, 4)
            assert await asyncio.to_thread(is_caught_up, settings)

    uvloop.run(scenario())
    assert {letter.reason for letter in letters.letters} == {"undecodable"}
    assert {letter.value for letter in letters.letters} >= {b"no avro", None, b""}
