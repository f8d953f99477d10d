"""From the links of a page to what is worth telling the frontier: in scope, not told lately, one record a host."""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from schemas.records import Crawl, Links, Page, Reason
from schemas.scope import judge
from schemas.url import InvalidUrl, Url, canonicalize
from streams.markup import Link

MAX_LINKS = 10_000
MAX_LINKS_CHARS = 2**20
"""Of a document, together; what follows on the page is left out and flagged."""
MAX_ANCHORS_CHARS = 2**18
"""Likewise; the links behind have no text."""
_CACHED_HREF_CHARS = 256

# What the URL Standard (4.4) takes away at both ends of a reference before it looks at it.
_TRIMMED = "".join(map(chr, range(0x21)))


class Resolved(NamedTuple):
    """A page's links as canonical URLs, in document order, each once."""

    urls: list[Url]
    follow: list[Url]
    """Without those that the page asks not to be followed."""
    anchors: list[str]
    """Of the first link to each of :attr:`urls`."""
    more: bool
    """Whether the page has more than :data:`MAX_LINKS` or :data:`MAX_LINKS_CHARS`."""


def resolve(base: str, links: Iterable[Link]) -> Resolved:
    """The links that can be crawled."""
    # Relative to the base's directory all pages of it share their results: navigation is parsed once for all of them.
    path = base.partition("#")[0].partition("?")[0]
    directory = path[: path.rindex("/") + 1] if path.count("/") > 2 else base
    found: dict[str, Url] = {}
    follow: dict[str, Url] = {}
    room_chars = MAX_LINKS_CHARS
    room_anchors = MAX_ANCHORS_CHARS
    more = False
    anchors: list[str] = []
    for href, nofollow, text in links:
        # Nearly every link of the web is one of these two: the shortest way for them.
        if len(href) <= _CACHED_HREF_CHARS and href.startswith(("/", "http://", "https://")):
            url = _cached(href, directory)
        else:
            url = _resolved(href, base, directory)
        if url is None:
            continue
        if url.href not in found:
            room_chars -= len(url.href)
            if len(found) >= MAX_LINKS or room_chars < 0:
                more = True
                break
            found[url.href] = url
            room_anchors -= len(text)
            anchors.append(text if room_anchors >= 0 else "")
        if not nofollow:
            follow.setdefault(url.href, url)
    return Resolved(list(found.values()), list(follow.values()), anchors, more)


def _resolved(href: str, base: str, directory: str) -> Url | None:
    reference = href.strip(_TRIMMED)
    near = base if _needs_whole_base(reference) else directory
    # Long ones are hardly ever repeated, and would fill the memory.
    return _cached(reference, near) if len(reference) <= _CACHED_HREF_CHARS else _parsed(reference, near)


def _needs_whole_base(reference: str) -> bool:
    """Whether more of the base matters than its directory: for an empty path, and behind a scheme without slashes."""
    first = reference[:1]
    return first in "?#" or (first in "hH" and reference[:4].lower() == "http" and "//" not in reference[:8])


def _parsed(reference: str, base: str) -> Url | None:
    try:
        return canonicalize(reference, base)
    except InvalidUrl:
        return None


_cached = lru_cache(maxsize=32_768)(_parsed)


class Recent:
    """The (crawl, URL) pairs that were told lately: two generations, so memory is bounded and nothing is evicted early.

    Only what the broker has acknowledged may be added: otherwise a crash in between would lose a link. It holds hashes
    of 64 bits under a key of this process: with a million of them one link in 18 trillion is taken for another.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._young: set[int] = set()
        self._old: set[int] = set()

    def __contains__(self, key: int) -> bool:
        return key in self._young or key in self._old

    def add(self, keys: Iterable[int]) -> None:
        """Remember acknowledged pairs."""
        self._young.update(keys)
        if len(self._young) > self._size:
            self._old, self._young = self._young, set()


def key(crawl: str, href: str) -> int:
    """What :class:`Recent` knows a URL of a crawl by."""
    return hash((crawl, href))


class Outlinks(NamedTuple):
    """What one page gives the frontier, and what was left out."""

    records: list[Links]
    keys: list[int]
    """Of the URLs in the records."""
    out_of_scope: int
    told_before: int
    over_limit: int


def select(crawl: Crawl, page: Page, urls: Iterable[Url], told: Recent, *, pending: set[int], limit: int) -> Outlinks:
    """One record for each host, in the order in which the page names the hosts; ``limit`` URLs at the most.

    ``pending`` holds what goes out in the same delivery: nothing of it is told again, since it succeeds or is repeated
    as a whole.
    """
    hosts: dict[str, list[str]] = {}
    keys: list[int] = []
    out_of_scope = told_before = over_limit = 0
    depth = page.depth + 1
    refusal = judge(crawl, page.host, depth)
    for url in urls:
        known = key(crawl.name, url.href)
        if known in told or known in pending:
            told_before += 1
        elif refusal(url) is not None:
            out_of_scope += 1
        elif len(keys) >= limit:
            over_limit += 1
        else:
            keys.append(known)
            hosts.setdefault(url.host, []).append(url.href)
    records = [
        Links(crawl=crawl.name, host=host, reason=Reason.LINK, depth=depth, parent=page.url, urls=found)
        for host, found in hosts.items()
    ]
    return Outlinks(records, keys, out_of_scope, told_before, over_limit)
