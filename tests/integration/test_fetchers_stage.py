"""The fetchers between a real Kafka and a real, small web."""

import asyncio
import time
from datetime import timedelta
from uuid import uuid4

import pytest
import uvloop

from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import FetcherSettings, Settings
from infra.spool import Spool
from infra.telemetry.tracing import trace_of
from schemas.outcomes import Outcome
from schemas.records import Fetch, Page, Request
from schemas.wire import encode
from tests.integration.fetchers_scene import (
    LARGE,
    Tap,
    asked,
    is_caught_up,
    lag,
    process,
    release,
    request,
    running,
    serving,
)

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def settings(kafka_settings: Settings) -> Settings:
    """Fetchers that may reach loopback."""
    fetchers = FetcherSettings(
        allow_networks=("127.0.0.0/8",),  # type: ignore[arg-type]  # pydantic makes networks of it
        resolve={"*.fetchers.test": "127.0.0.1"},
        drain=timedelta(seconds=3),
    )
    return kafka_settings.model_copy(update={"fetchers": fetchers})


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


def test_a_page_that_no_record_can_hold_goes_by_reference(settings: Settings) -> None:
    """Its record names its body, which lies in the spool whole."""
    crawl = f"c{uuid4().hex[:8]}"
    pages = Tap(settings, TopicName.PAGES)
    wide = settings.fetchers.model_copy(update={"max_body_kib": 20 * 1024})
    large = settings.model_copy(update={"fetchers": wide})

    async def scenario() -> None:
        async with serving() as site, running(large):
            wanted = [request(f"http://large.fetchers.test:{site.port}/large", crawl)]
            await asyncio.to_thread(release, settings, wanted)
            await asyncio.to_thread(pages.read, crawl, 1)

    uvloop.run(scenario())
    (page,) = pages.found
    assert isinstance(page, Page)
    assert (page.body, page.cut) == (b"", None)
    assert Spool(large).get(page.body_at or "") == LARGE


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
