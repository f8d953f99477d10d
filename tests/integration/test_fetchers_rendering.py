"""Pages with scripts, rendered by the system's Chromium."""

import asyncio
from datetime import UTC, datetime

import pytest
from aiohttp import web

from fetchers.heads import Head
from schemas.orders import Action, Order, Orders, Subject
from schemas.outcomes import Outcome
from tests.integration.rendering_scene import (
    Answer,
    html,
    needs_chromium,
    render_once,
    rendering,
    run,
    serving,
    settings,
)
from tests.unit.fetchers.raw_web import request

pytestmark = pytest.mark.timeout(120)
NOW = datetime.now(UTC)

APP = '<!doctype html><title>App</title><div id="root"></div><script src="/app.js"></script>'
SCRIPT = """
fetch('/api/items', {headers: {'X-Wanted': 'all'}}).then(a => a.json()).then(items => {
  for (const item of items) {
    const p = document.createElement('p'); p.textContent = item + ' \\u00e9'; document.getElementById('root').append(p);
  }
})
"""


@pytest.fixture(autouse=True)
def _chromium() -> None:
    needs_chromium()


def script(text: str) -> Answer:
    """A script file."""

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text=text, content_type="text/javascript")

    return answer


async def items(_request: web.Request) -> web.Response:
    """What the page asks for."""
    response = web.json_response(["one", "two"])
    response.enable_compression()
    return response


def test_what_scripts_make_of_a_page_is_the_page() -> None:
    """One attempt as any other: the body holds what a reader sees, and the head says what the body is now."""
    attempt, site, _ = render_once(
        {"/": html(APP, **{"X-From": "site"}), "/app.js": script(SCRIPT), "/api/items": items}
    )
    assert (attempt.outcome, attempt.status, attempt.rendered, attempt.cut) == (Outcome.OK, 200, True, None)
    assert "<p>one é</p><p>two é</p>".encode() in attempt.body
    head = Head(attempt.head.removesuffix(b"\r\n"))
    assert head.text(b"content-type") == "text/html; charset=utf-8"
    assert (head.values(b"content-length"), head.text(b"x-from")) == ([], "site")
    assert sorted(site.paths()) == ["/", "/api/items", "/app.js"]
    assert {hit.headers["User-Agent"] for hit in site.hits} == {"Odradek/0.1 (crawler)"}
    assert next(hit for hit in site.hits if hit.path == "/api/items").headers["X-Wanted"] == "all"
    page, fetch = attempt.records(request("http://page.raw.test/"), "w")
    assert page is not None
    assert (page.rendered, page.fetch_id) == (True, fetch.fetch_id)


def test_what_is_no_page_is_not_rendered() -> None:
    """Redirects, errors and other types are the results that they always are, and cost no browser."""

    async def moved(_request: web.Request) -> web.Response:
        raise web.HTTPFound("/elsewhere")

    async def data(_request: web.Request) -> web.Response:
        return web.json_response({"a": 1})

    async def scenario() -> list[tuple[Outcome, bool]]:
        async with serving({"/moved": moved, "/data": data}) as site, rendering(settings()) as scene:
            attempts = [await scene.render(site, path) for path in ("/moved", "/data", "/none")]
            assert scene.browser.starts == 0
            return [(attempt.outcome, attempt.rendered) for attempt in attempts]

    assert run(scenario()) == [(Outcome.REDIRECT, False), (Outcome.OK, False), (Outcome.CLIENT_ERROR, False)]


def test_where_a_script_leads_is_a_redirect() -> None:
    """It is a result for the frontier, as a Location is; nothing of the target was asked for."""
    attempt, site, _ = render_once(
        {"/": html("<script>location.replace('/real?x=1#part')</script>"), "/real": html("x")}
    )
    assert attempt.outcome is Outcome.REDIRECT
    assert attempt.redirect_to == f"http://page.raw.test:{site.port}/real?x=1"
    assert site.paths() == ["/"]


@pytest.mark.parametrize("script", ["location.reload()", "location.hash = 'a'", "history.pushState({}, '', '/other')"])
def test_a_page_may_reload_itself_or_move_within_itself(script: str) -> None:
    """Neither is a redirect; what stands there is the page, and its document is asked for once."""
    attempt, site, _ = render_once({"/": html(f"<p>here</p><script>{script}</script>")})
    assert (attempt.outcome, attempt.rendered) == (Outcome.OK, True)
    assert b"<p>here</p>" in attempt.body
    assert site.paths() == ["/"]


def test_orders_hold_for_what_a_page_asks_for() -> None:
    """A host that an operator has blocked is not asked for a script either."""
    text = '<p>x</p><script src="http://other.raw.test:{port}/a.js"></script>'

    async def scenario() -> list[str]:
        answers = {"/a.js": script("document.write('loaded')")}
        async with serving(answers) as site:
            site.answers["/"] = html(text.format(port=site.port))
            blocked = Order(
                action=Action.BLOCK, subject=Subject.HOST, target=f"other.raw.test:{site.port}", by="t", ordered_at=NOW
            )
            async with rendering(settings(), Orders([blocked])) as scene:
                await scene.render(site, "/")
        return site.paths()

    assert run(scenario()) == ["/"]


def test_a_browser_that_dies_is_replaced() -> None:
    """Killed in the middle of a page or between two: the page is rendered by the next one, asked for only once."""

    async def scenario() -> tuple[bool, list[str], int]:
        entered = asyncio.Event()

        async def slow(_request: web.Request) -> web.Response:
            entered.set()
            await asyncio.sleep(1)
            return web.Response(text="document.body.append('alive')", content_type="text/javascript")

        async with serving({"/": html(APP), "/app.js": slow}) as site, rendering(settings()) as scene:
            work = asyncio.create_task(scene.render(site, "/"))
            await entered.wait()
            await scene.browser.kill()
            attempt = await work
            return b"alive" in attempt.body, site.paths(), scene.browser.starts

    alive, paths, starts = run(scenario())
    assert alive
    assert paths.count("/") == 1
    assert starts == 2


def test_pages_know_nothing_of_each_other() -> None:
    """What one has stored, another does not find: each has a browser as if it were new."""
    text = """<div id=said></div><script>
    const found = [document.cookie || 'none', localStorage.getItem('a') || 'none'];
    document.getElementById('said').textContent = found.join(' ');
    document.cookie = 'a=1; path=/'; localStorage.setItem('a', '1')</script>"""

    async def scenario() -> list[str]:
        async with serving({"/": html(text)}) as site, rendering(settings()) as scene:
            bodies = [(await scene.render(site, "/")).body.decode() for _ in range(2)]
            return [body.partition('id="said">')[2].partition("<")[0] for body in bodies]

    assert run(scenario()) == ["none none", "none none"]


def test_what_pages_share_is_asked_for_once() -> None:
    """A site's script is kept for its other pages, so that its host sees little more than without a browser."""

    async def scenario() -> list[str]:
        async with serving({"/": html(APP), "/app.js": script("document.body.append('x')")}) as site:
            async with rendering(settings()) as scene:
                for _ in range(3):
                    assert b"x" in (await scene.render(site, "/")).body
            return site.paths()

    assert sorted(run(scenario())) == ["/", "/", "/", "/app.js"]


def robots(text: str, status: int = 200) -> Answer:
    """A robots.txt."""

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text=text, status=status)

    return answer


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (robots("User-agent: *\nDisallow: /api/\n"), {"/", "/app.js"}),
        (robots("User-agent: *\nDisallow: /\nUser-agent: odradek\nAllow: /\n"), {"/", "/app.js", "/api/items"}),
        (robots("gone", 404), {"/", "/app.js", "/api/items"}),
        (robots("busy", 503), {"/"}),
    ],
)
def test_what_a_page_asks_for_obeys_robots(answer: Answer, wanted: set[str]) -> None:
    """Each part by the rules for us where it is; rules that cannot be had allow none. They are asked for once."""
    site = {"/": html(APP), "/app.js": script(SCRIPT), "/api/items": items, "/robots.txt": answer}
    attempt, seen, _ = render_once(site)
    assert attempt.rendered
    assert set(seen.paths()) == wanted
    assert [hit.path for hit in seen.hits].count("/robots.txt") == 1
