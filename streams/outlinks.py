"""From the links of a page to what is worth telling the frontier: in scope, not told lately, one record a host."""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from schemas.records import Crawl, Links, Page, Reason
from schemas.scope import refusal
from schemas.url import InvalidUrl, Url, canonicalize
from streams.markup import Link

MAX_LINKS = 10_000
"""Of a document; what follows on the page is left out and flagged."""
MAX_OUTLINKS = 2_000
"""Told to the frontier for one page."""


class Resolved(NamedTuple):
    """A page's links as canonical URLs, in document order, each once."""

    urls: list[Url]
    follow: list[Url]
    """Without those that the page asks not to be followed."""
    more: bool
    """Whether the page has more than :data:`MAX_LINKS`."""


def resolve(base: str, links: Iterable[Link]) -> Resolved:
    """The links that can be crawled."""
    # Relative to the base's directory all pages of it share their results: navigation is parsed once for all of them.
    path = base.partition("?")[0]
    directory = path[: path.rindex("/") + 1] if path.count("/") > 2 else base
    found: dict[Url, bool] = {}
    for href, nofollow in links:
        url = _canonical(href, base if href[:1] in ("", "?", "#") else directory)
        if url is None:
            continue
        if url not in found and len(found) >= MAX_LINKS:
            return Resolved(list(found), [each for each, follow in found.items() if follow], more=True)
        found[url] = found.get(url, False) or not nofollow
    return Resolved(list(found), [url for url, follow in found.items() if follow], more=False)


@lru_cache(maxsize=65_536)
def _canonical(href: str, base: str) -> Url | None:
    try:
        return canonicalize(href, base)
    except InvalidUrl:
        return None


class Recent:
    """The (crawl, URL) pairs that were told lately: two generations, so memory is bounded and nothing is evicted early.

    Only what the broker has acknowledged may be added: otherwise a crash in between would lose a link.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._young: set[tuple[str, str]] = set()
        self._old: set[tuple[str, str]] = set()

    def __contains__(self, key: tuple[str, str]) -> bool:
        return key in self._young or key in self._old

    def add(self, keys: Iterable[tuple[str, str]]) -> None:
        """Remember acknowledged pairs."""
        self._young.update(keys)
        if len(self._young) > self._size:
            self._old, self._young = self._young, set()


class Outlinks(NamedTuple):
    """What one page gives the frontier, and what was left out."""

    records: list[Links]
    out_of_scope: int
    told_before: int


def select(crawl: Crawl, page: Page, urls: Iterable[Url], recent: Recent) -> Outlinks:
    """One record for each host, in the order in which the page names the hosts."""
    hosts: dict[str, list[str]] = {}
    out_of_scope = told_before = told = 0
    depth = page.depth + 1
    for url in urls:
        if (crawl.name, url.href) in recent:
            told_before += 1
        elif told >= MAX_OUTLINKS or refusal(crawl, page.host, url, depth) is not None:
            out_of_scope += 1
        else:
            told += 1
            hosts.setdefault(url.host, []).append(url.href)
    records = [
        Links(crawl=crawl.name, host=host, reason=Reason.LINK, depth=depth, parent=page.url, urls=found)
        for host, found in hosts.items()
    ]
    return Outlinks(records, out_of_scope, told_before)
