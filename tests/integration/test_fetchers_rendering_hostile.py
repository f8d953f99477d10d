"""Hostile pages in the system's Chromium: what they can reach, take and forge."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import web

from schemas.outcomes import Outcome
from schemas.records import Cut
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

pytestmark = pytest.mark.timeout(120)
NOW = datetime.now(UTC)

APP = '<!doctype html><title>App</title><div id="root"></div><script src="/app.js"></script>'


@pytest.fixture(autouse=True)
def _chromium() -> None:
    needs_chromium()


def script(text: str) -> Answer:
    """A script file."""

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text=text, content_type="text/javascript")

    return answer


def test_nothing_but_what_makes_text_is_loaded() -> None:
    """Images, fonts, media, frames, beacons, sockets and workers' own requests never reach a host."""
    text = """<img src=/i.png><link rel=icon href=/f.ico><iframe src=/frame></iframe><video src=/v.mp4></video>
    <link rel=stylesheet href=/s.css><embed src=/e><object data=/o></object>
    <script>navigator.sendBeacon('/beacon', 'x'); new EventSource('/events');
    try { new WebSocket('ws://' + location.host + '/socket') } catch (e) {}
    navigator.serviceWorker && navigator.serviceWorker.register('/sw.js').catch(() => 0);
    window.open('/popup'); document.write('<a id=d href=/download download>d</a>'); document.getElementById('d').click()
    </script><p>text</p>"""
    attempt, site, _ = render_once({"/": html(text), "/s.css": html("")})
    assert b"<p>text</p>" in attempt.body
    assert set(site.paths()) == {"/", "/s.css"}


def test_no_page_reaches_what_a_fetcher_may_not() -> None:
    """Loopback beside the allowed address, metadata services, private names, blocked ports and redirects to them."""
    targets = [
        "http://127.0.0.2:{port}/", "http://[::1]:{port}/", "http://169.254.169.254/latest/meta-data/",
        "http://metadata.google.internal/", "http://inside.test/", "http://page.raw.test:9092/", "http://0x7f000002:{port}/",
        "http://2130706434:{port}/", "http://[::ffff:127.0.0.2]:{port}/", "http://localhost:{port}/", "/to-loopback",
        "file:///etc/passwd", "ftp://127.0.0.1/", "chrome://version",
    ]  # fmt: skip

    async def scenario() -> tuple[list[str], list[str]]:
        async with serving({}, "127.0.0.2") as inside:
            wanted = json.dumps([each.format(port=inside.port) for each in targets])
            text = f"""<div id=said></div><script>
            const ask = url => fetch(url, {{mode: 'no-cors'}}).then(a => 'REACHED ' + url, e => 'refused');
            Promise.all({wanted}.map(ask))
              .then(all => document.getElementById('said').textContent = all.join('|'));
            </script>"""

            async def away(_request: web.Request) -> web.Response:
                raise web.HTTPFound(f"http://127.0.0.2:{inside.port}/")

            async with serving({"/": html(text), "/to-loopback": away}) as site, rendering(settings()) as scene:
                attempt = await scene.render(site, "/")
                said = attempt.body.decode().partition('id="said">')[2].partition("<")[0]
                return said.split("|"), inside.paths()

    said, reached = run(scenario())
    assert said == ["refused"] * len(targets)
    assert reached == []


def test_the_browser_has_no_network_of_its_own() -> None:
    """Sockets, peer connections and preconnects end at a dead end: no byte gets to where they were meant to go."""

    async def scenario() -> tuple[int, list[bytes], int]:
        heard: list[bytes] = []
        taken: list[object] = []

        class Udp(asyncio.DatagramProtocol):
            def datagram_received(self, data: bytes, addr: object) -> None:
                heard.append(data)

        async def connected(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            taken.append(writer)
            writer.close()

        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(Udp, local_addr=("127.0.0.1", 0))
        udp = transport.get_extra_info("sockname")[1]
        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        tcp = server.sockets[0].getsockname()[1]
        text = f"""<link rel=preconnect href="http://127.0.0.1:{tcp}"><link rel=dns-prefetch href="//127.0.0.1:{tcp}">
        <script>
        new WebSocket('ws://127.0.0.1:{tcp}/');
        const turn = {{urls: 'turn:127.0.0.1:{tcp}?transport=tcp', username: 'a', credential: 'b'}};
        const peer = new RTCPeerConnection({{iceServers: [{{urls: 'stun:127.0.0.1:{udp}'}}, turn]}});
        peer.createDataChannel('x'); peer.createOffer().then(o => peer.setLocalDescription(o));
        try {{ new WebTransport('https://127.0.0.1:{udp}/') }} catch (e) {{}}
        </script>"""
        async with serving({"/": html(text)}) as site, rendering(settings(quiet=1.5)) as scene:
            attempt = await scene.render(site, "/")
            assert attempt.rendered
            knocks = scene.browser.knocks
        server.close()
        transport.close()
        return len(taken), heard, knocks

    taken, heard, knocks = run(scenario())
    assert (taken, heard) == (0, [])
    assert knocks > 0


@pytest.mark.parametrize(
    "text",
    [
        "<p>before</p><script>for(;;){}</script>",
        "<p>before</p><script>addEventListener('load', () => { for(;;){} })</script>",
        "<p>before</p><script>setInterval(() => { for (const end = Date.now() + 1e9; Date.now() < end;); })</script>",
        "<p>before</p><script>const f = () => Promise.resolve().then(f); f()</script>",
    ],
)
def test_scripts_that_never_end_are_ended(text: str) -> None:
    """What stood there is the page, marked as cut by time."""
    attempt, _, _ = render_once({"/": html(text)}, timeout=5)
    assert (attempt.outcome, attempt.rendered, attempt.cut) == (Outcome.OK, True, Cut.TIME)
    assert b"<p>before</p>" in attempt.body


def test_a_page_that_never_rests_is_taken_as_it_stands() -> None:
    """One that asks for more without end is finished a while after it has loaded; it asks no more than it may."""
    text = "<p>ticking</p><script>setInterval(() => fetch('/tick?' + Math.random()), 20)</script>"
    attempt, site, _ = render_once({"/": html(text)}, max_requests=15)
    assert (attempt.rendered, attempt.cut) == (True, None)
    assert b"<p>ticking</p>" in attempt.body
    assert site.paths().count("/tick") == 15


@pytest.mark.parametrize(
    "text",
    [
        "<p>raw</p><script>const all=[]; for(;;) all.push(new Array(1e6).fill(Math.random()))</script>",
        "<p>raw</p><script>for(;;) document.body.append('x'.repeat(1e4) + Math.random())</script>",
        "<p>raw</p><script>const b=[]; for(;;) { const a = new Uint8Array(2**26); a.fill(7); b.push(a) }</script>",
    ],
)
def test_a_page_that_eats_memory_costs_only_itself(text: str) -> None:
    """It is stored as it came, the reason told, and the next page is rendered as if nothing had been."""

    async def scenario() -> tuple[tuple[bool, bytes, str | None], bool]:
        answers = {"/": html(text), "/app": html(APP), "/app.js": script("document.body.append('alive')")}
        async with serving(answers) as site, rendering(settings(max_memory_mib=300)) as scene:
            first = await scene.render(site, "/")
            second = await scene.render(site, "/app")
            return (first.rendered, first.body, first.error), b"alive" in second.body

    (rendered, body, error), next_is_good = run(scenario())
    assert (rendered, body) == (False, text.encode())
    assert error is not None
    assert "not rendered" in error
    assert next_is_good


def test_a_body_of_any_size_is_cut_where_pages_are() -> None:
    """A document that scripts have blown up is no longer than a page may be, and marked."""
    text = "<script>document.write('<p hidden>' + 'é'.repeat(11e6))</script>"
    attempt, _, _ = render_once(
        {"/": html(text)}, max_memory_mib=4_096, restless=timedelta(seconds=25), timeout=timedelta(seconds=55)
    )
    assert (attempt.rendered, attempt.cut) == (True, Cut.LENGTH)
    assert len(attempt.body) == 10 * 2**20


def test_a_page_cannot_forge_what_is_taken() -> None:
    """Whatever its scripts make of the browser's own functions, the document is read beside them."""
    text = """<p>true</p><script>
    Object.defineProperty(Element.prototype, 'outerHTML', {get: () => 'forged'});
    Object.defineProperty(Document.prototype, 'documentElement', {get: () => null});
    String.prototype.slice = () => 'forged'; JSON.stringify = () => 'forged'</script>"""
    attempt, _, _ = render_once({"/": html(text)})
    assert b"<p>true</p>" in attempt.body
    assert attempt.body.startswith(b"<html>")
