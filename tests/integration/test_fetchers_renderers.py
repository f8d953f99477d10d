"""The renderers between a real Kafka, a real browser and a small web of pages with scripts."""

import asyncio
import json
import os
import sys
from datetime import timedelta
from uuid import uuid4

import pytest
import uvloop
from aiohttp import web

from fetchers.rendering.browser import Browser, executable
from fetchers.rendering.stage import Renderers
from infra.errors import UserError
from infra.kafka.control import Control
from infra.kafka.lag import LagReader
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import FetcherSettings, RenderingSettings, Settings
from infra.stage import Context
from schemas.outcomes import Outcome
from schemas.records import Fetch, Page
from schemas.wire import encode
from tests.integration.fetchers_scene import Tap, request
from tests.integration.rendering_scene import html, needs_chromium, serving

pytestmark = pytest.mark.timeout(180)

PAGE = "<div id=root></div><script src=/app.js></script>"


async def app(_request: web.Request) -> web.Response:
    """A script that shows something."""
    return web.Response(text="document.getElementById('root').textContent = 'shown'", content_type="text/javascript")


def test_requests_become_rendered_pages(kafka_settings: Settings) -> None:
    """Each request of ``renders`` gives one fetch and one page with the same id; the offsets follow the effects."""
    needs_chromium()
    crawl = f"c{uuid4().hex[:8]}"
    fetchers = FetcherSettings(
        allow_networks=("127.0.0.0/8",),  # type: ignore[arg-type]  # pydantic makes networks of it
        resolve={"*.fetchers.test": "127.0.0.1"},
        drain=timedelta(seconds=3),
    )
    settings = kafka_settings.model_copy(update={"fetchers": fetchers})
    fetches, pages = Tap(settings, TopicName.FETCHES), Tap(settings, TopicName.PAGES)

    async def scenario() -> set[str]:
        async with serving({f"/{n}": html(PAGE) for n in range(5)} | {"/app.js": app}) as site:
            wanted = [request(f"http://h{n}.fetchers.test:{site.port}/{n}", crawl) for n in range(5)]
            wanted.append(request(f"http://h.fetchers.test:{site.port}/none", crawl))
            producer = Producer(settings, "test")
            for each in wanted:
                record = Outbound(TopicName.RENDERS, each.host.encode(), encode(each), [])
                producer.send(record, lambda _error: None)
            assert producer.flush(timedelta(seconds=20)) == 0
            worker = f"renderers-test-{uuid4().hex[:6]}"
            stage = Renderers(Context(worker, settings, Control(settings, "nobody-orders")))
            stopping = asyncio.Event()
            work = asyncio.create_task(stage.run(stopping))
            try:
                await asyncio.to_thread(fetches.read, crawl, 6)
                await asyncio.to_thread(pages.read, crawl, 5)
            finally:
                stopping.set()
                await work
            return {each.url for each in wanted}

    wanted = uvloop.run(scenario())
    results = {fetch.url: fetch for fetch in fetches.found if isinstance(fetch, Fetch)}
    assert results.keys() == wanted
    assert sorted(fetch.outcome for fetch in results.values()) == [Outcome.CLIENT_ERROR] + [Outcome.OK] * 5
    for page in pages.found:
        assert isinstance(page, Page)
        assert (page.rendered, page.fetch_id) == (True, results[page.url].fetch_id)
        assert b'<div id="root">shown</div>' in page.body
    group = Renderers.group
    offsets = LagReader(settings, {group: (TopicName.RENDERS,)}).read()
    assert sum(offsets.lag(group).values()) == 0


def test_without_chromium_it_says_how_to_get_it(kafka_settings: Settings) -> None:
    """The stage ends with exit code 2 and a line that names the package, before it takes anything."""

    async def scenario() -> tuple[int | None, str]:
        environment = {
            **os.environ,
            "KAFKA_BOOTSTRAP_SERVERS": kafka_settings.kafka_bootstrap_servers or "",
            "ODRADEK_DATA_DIR": str(kafka_settings.data_dir),
            "ODRADEK_LOG_FORMAT": "json",
            "ODRADEK_RENDERING__CHROMIUM": "/nowhere/chromium",
        }
        started = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "infra.cli", "run", "renderers", env=environment,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        said, _ = await asyncio.wait_for(started.communicate(), 90)
        return started.returncode, said.decode()

    code, said = uvloop.run(scenario())
    assert code == 2
    failed = next(json.loads(line) for line in said.splitlines() if "apt-get install chromium" in line)
    assert "/nowhere/chromium cannot be run" in json.dumps(failed)


def test_a_browser_that_cannot_be_run_is_refused_when_it_is_set() -> None:
    """Nobody waits for the first page to learn it."""
    with pytest.raises(UserError, match="apt-get install chromium"):
        executable(RenderingSettings(chromium="/etc/passwd"))  # type: ignore[arg-type]  # pydantic makes a path of it
    with pytest.raises(UserError, match=r"rendering\.chromium"):
        Browser(RenderingSettings(chromium="/nowhere"), "test")  # type: ignore[arg-type]  # likewise
