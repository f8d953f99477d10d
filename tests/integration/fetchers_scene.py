"""A small web, taps on the topics, and the fetchers between them, in this process or in one of their own."""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from aiohttp import web
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from fetchers.stage import GROUP, Fetchers
from infra.kafka.clients import common_config
from infra.kafka.control import Control
from infra.kafka.inbound import Inbound, from_message
from infra.kafka.lag import LagReader
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.stage import Context
from infra.telemetry.tracing import Trace, read, trace_of
from schemas.letters import DeadLetter
from schemas.records import Fetch, Kind, Page, Request
from schemas.url import url_id
from schemas.wire import decode, encode

LARGE = b"<p>" + os.urandom(11_600_000)
"""Of a page that no record can hold."""


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
        if request.path == "/large":
            return web.Response(body=LARGE, content_type="text/html")
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
                yield from_message(message)


@contextlib.asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Fetchers]:
    """The stage in this process; drained at the end."""
    stage = Fetchers(Context(f"fetchers-test-{uuid4().hex[:6]}", settings, Control(settings, "nobody-orders")))
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
