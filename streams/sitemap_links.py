"""From a sitemap or feed to what is worth telling the frontier: in scope, with the order in which it is wanted."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from schemas.codings import declared, undo
from schemas.records import Crawl, Kind, Links, Page, Reason
from schemas.scope import judge
from schemas.url import Url
from streams import sitemaps
from streams.opened import headers
from streams.sitemaps import Named

MOST_HOPS = 5
"""From a sitemap to another: an index names sitemaps, and no index needs more."""
MOST_OF_A_RECORD = 400
"""URLs, of the longest ones there are."""
_RECENT = ((timedelta(days=1), 3), (timedelta(days=7), 2), (timedelta(days=30), 1))


class Listed(NamedTuple):
    """What one sitemap gives the frontier, and what was left out."""

    records: list[Links]
    pages: int
    sitemaps: int
    out_of_scope: int
    flags: tuple[str, ...]


def listed(page: Page, crawl: Crawl, *, hreflang: bool = True) -> Listed:
    """Read a sitemap as it came over the wire; ``hreflang``: the same pages in other languages too."""
    decoded = undo(page.body, declared(headers(page.head).get("content-encoding", ())), sitemaps.MAX_BYTES)
    found = sitemaps.read(decoded.body, page.url, page.fetched_at)
    flags = [*decoded.flags, *found.flags]
    named = found.pages + found.translations if hreflang else found.pages
    pages = list(_within(crawl, page, page.depth + 1, named))
    more = list(_within(crawl, page, page.depth, found.sitemaps))
    out_of_scope = len(named) + len(found.sitemaps) - len(pages) - len(more)
    if more and page.hops >= MOST_HOPS:
        flags.append("too_deeply_nested")
        more = []
    records = [*_records(page, crawl, Kind.SITEMAP, more), *_records(page, crawl, Kind.PAGE, pages)]
    return Listed(records, len(pages), len(more), out_of_scope, tuple(dict.fromkeys(flags)))


def hint(priority: float | None, modified: datetime | None, now: datetime) -> int:
    """The priority of a link, as :class:`schemas.orders.Order` counts it: from -5 to 8.

    What its site thinks of it, and how new it is: who names what has changed wants that to be read.
    """
    own = 0 if priority is None else round(10 * priority) - 5
    return own + (0 if modified is None else next((bonus for age, bonus in _RECENT if now - modified <= age), 0))


def _within(crawl: Crawl, page: Page, depth: int, found: Iterable[Named]) -> Iterator[Named]:
    """What belongs to the crawl, each URL once."""
    refusal = judge(crawl, page.host, depth)
    seen: set[Url] = set()
    for named in found:
        if refusal(named.url) is None and named.url not in seen:
            seen.add(named.url)
            yield named


def _records(page: Page, crawl: Crawl, kind: Kind, found: list[Named]) -> Iterator[Links]:
    hosts: dict[str, list[Named]] = {}
    for named in found:
        hosts.setdefault(named.url.host, []).append(named)
    for host, of_host in hosts.items():
        for begin in range(0, len(of_host), MOST_OF_A_RECORD):
            some = of_host[begin : begin + MOST_OF_A_RECORD]
            yield Links(
                crawl=crawl.name,
                host=host,
                reason=Reason.SITEMAP,
                depth=page.depth + (kind is Kind.PAGE),
                hops=page.hops + 1 if kind is Kind.SITEMAP else 0,
                parent=page.url,
                urls=[named.url.href for named in some],
                kind=kind,
                priorities=[hint(named.priority, named.modified, page.fetched_at) for named in some],
                modified=[round(named.modified.timestamp()) if named.modified else 0 for named in some],
            )
