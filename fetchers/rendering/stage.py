"""The stage: as the fetchers, with a browser."""

from collections.abc import Mapping

from fetchers.connections import Connections
from fetchers.fetcher import Fetcher
from fetchers.rendering.browser import Browser
from fetchers.rendering.parts import Parts
from fetchers.rendering.renderer import Renderer
from fetchers.rendering.robots import PartRules
from fetchers.stage import Fetchers
from fetchers.work import Fetches
from infra.kafka.topics import TopicName
from infra.stage import Context


class Renderers(Fetchers):
    """From ``renders`` to ``pages`` and ``fetches``."""

    group = "odradek-renderers"
    topic = TopicName.RENDERS

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._at_a_time = context.settings.rendering.pages
        self._browser: Browser | None = None

    async def open(self, connections: Connections) -> Fetches:
        """A renderer, its browser started: who has none is told at once, not at the first page."""
        settings, orders = self._context.settings, self._context.control.orders
        fetcher = Fetcher(settings, connections, orders)
        self._browser = Browser(settings.rendering, fetcher.headers.user_agent)
        await self._browser.start()
        fresh_s = settings.frontier.robots_fresh.total_seconds()
        rules = PartRules(fetcher.fetch, settings.identity.robots_token, fresh_s)
        parts = Parts(settings, connections, fetcher.headers, orders, rules, obeys=self._obeys)
        return Renderer(settings, fetcher, parts, self._browser)

    def _obeys(self, crawl: str) -> bool:
        """Whether a crawl obeys robots.txt; one that nobody has defined does."""
        known = self._context.control.known().get(crawl)
        return known is None or known.follow_robots

    async def close(self) -> None:
        """End the browser."""
        if self._browser is not None:
            await self._browser.close()

    def counts(self) -> Mapping[str, int]:
        """As the fetchers'; and how often a page has tried to get by its browser's own network."""
        return {**super().counts(), "browser_knocks": self._browser.knocks if self._browser is not None else 0}
