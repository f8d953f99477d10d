"""A small web of pages with scripts, and a renderer that may reach it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import pytest
import uvloop
from aiohttp import web

from fetchers.attempt import Attempt
from fetchers.connections import Connections
from fetchers.fetcher import Fetcher
from fetchers.rendering.browser import Browser, executable
from fetchers.rendering.parts import Parts
from fetchers.rendering.renderer import Renderer
from fetchers.rendering.robots import PartRules
from infra.errors import UserError
from infra.settings import FetcherSettings, RenderingSettings, Settings
from schemas.orders import Orders
from tests.unit.fetchers.raw_web import no_dns, request

T = TypeVar("T")
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def needs_chromium() -> None:
    """Skip where there is no browser, saying how to get one."""
    try:
        executable(RenderingSettings())
    except UserError as error:
        pytest.skip(str(error))


def html(text: str, **headers: str) -> Answer:
    """A page."""

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text=text, content_type="text/html", headers=headers)

    return answer


@dataclass
class Site:
    """Answers on loopback; remembers what it was asked."""

    answers: dict[str, Answer]
    port: int = 0
    hits: list[web.Request] = field(default_factory=list)

    async def answer(self, asked: web.Request) -> web.StreamResponse:
        self.hits.append(asked)
        if asked.path in self.answers:
            return await self.answers[asked.path](asked)
        return web.Response(status=404, text="no such page")

    def paths(self) -> list[str]:
        """What it was asked for, in order, but for what allows it."""
        return [each.path for each in self.hits if each.path != "/robots.txt"]


@contextlib.asynccontextmanager
async def serving(answers: dict[str, Answer], host: str = "127.0.0.1") -> AsyncIterator[Site]:
    """The site on a free port."""
    site = Site(answers)
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", site.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, host, 0).start()
    site.port = runner.addresses[0][1]
    try:
        yield site
    finally:
        await runner.cleanup()


def settings(**rendering: Any) -> Settings:
    """Of loopback only the first address may be reached; little patience with who never rests."""
    short = {"quiet": timedelta(milliseconds=300), "restless": timedelta(seconds=2)}
    return Settings(
        fetchers=FetcherSettings(
            allow_networks=("127.0.0.1/32",),  # type: ignore[arg-type]  # pydantic makes networks of it
            resolve={"*.raw.test": "127.0.0.1", "inside.test": "10.1.2.3"},
        ),
        rendering=RenderingSettings(**(short | rendering)),
    )


@dataclass
class Scene:
    """A renderer with a browser of its own."""

    renderer: Renderer
    browser: Browser

    async def render(self, site: Site, path: str, host: str = "page.raw.test") -> Attempt:
        """Fetch and render a page of the site."""
        return await self.renderer.fetch(request(f"http://{host}:{site.port}{path}"))


@contextlib.asynccontextmanager
async def rendering(configured: Settings, orders: Orders | None = None) -> AsyncIterator[Scene]:
    """The renderer, its browser ended afterwards."""
    connections = Connections(configured.fetchers, no_dns)
    in_force = orders or Orders()
    fetcher = Fetcher(configured, connections, lambda: in_force)
    browser = Browser(configured.rendering, fetcher.headers.user_agent)
    rules = PartRules(fetcher.fetch, "odradek", 3_600.0)
    parts = Parts(configured, connections, fetcher.headers, lambda: in_force, rules)
    try:
        yield Scene(Renderer(configured, fetcher, parts, browser), browser)
    finally:
        await browser.close()
        await connections.close()


def run(scenario: Coroutine[Any, Any, T]) -> T:
    """Run a scenario in the kind of loop that the stage has."""
    result: T = uvloop.run(scenario)
    return result


def render_once(answers: dict[str, Answer], path: str = "/", **wanted: Any) -> tuple[Attempt, Site, Browser]:
    """Render one page of a site."""

    async def scenario() -> tuple[Attempt, Site, Browser]:
        async with serving(answers) as site, rendering(settings(**wanted)) as scene:
            attempt = await asyncio.wait_for(scene.render(site, path), 60)
            return attempt, site, scene.browser

    return run(scenario())
