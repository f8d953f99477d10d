"""One URL fetched for one person, without Kafka: for ``odradek try``.

As a browser would, at a person's own wish: robots.txt, which is for crawlers, is not asked, and a redirect is told, not
followed. The address is judged as for any other fetch.
"""

import asyncio
from datetime import UTC, datetime

from fetchers.connections import Connections
from fetchers.fetcher import Fetcher
from infra.settings import Settings
from schemas.records import Fetch, Kind, Page, Request
from schemas.url import Url, url_id


def fetch(settings: Settings, url: Url) -> tuple[Page | None, Fetch]:
    """The page, where one came, and what became of the fetch. Never raises for what the web does."""
    return asyncio.run(_fetch(settings, url))


async def _fetch(settings: Settings, url: Url) -> tuple[Page | None, Fetch]:
    request = Request(
        crawl="try",
        url=url.href,
        url_id=url_id(url.href),
        host=url.host,
        kind=Kind.PAGE,
        lease="try",
        visit=0,
        attempt=0,
        depth=0,
        hops=0,
        parent=None,
        delay_ms=0,
        robots=None,
        released_at=datetime.now(UTC),
    )
    connections = Connections(settings.fetchers)
    try:
        attempt = await Fetcher(settings, connections).fetch(request)
    finally:
        await connections.close()
    return attempt.records(request, "try")
