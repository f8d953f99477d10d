"""Sitemaps that a robots.txt names (sitemaps.org protocol, "Specifying the Sitemap location in your robots.txt")."""

from collections.abc import Iterable, Iterator

from frontier.entry import Entry, fingerprint
from frontier.partition import Partition
from frontier.records import decision, sitemap
from frontier.robots import Rules, sitemaps
from schemas.records import Crawl
from schemas.scope import refusal
from schemas.url import InvalidUrl, canonicalize

MOST = 100
"""Of one robots.txt; an index holds 50,000."""


def announce(partition: Partition, crawls: Iterable[str], origin: str, rules: Rules) -> None:
    """Hand the sitemaps over to those crawls that want them, each like any URL, to the partition of its host."""
    named = list(dict.fromkeys(sitemaps(rules)))[:MOST]
    for name in crawls if named else ():
        crawl = partition.crawl(name)
        if crawl.sitemaps and crawl.follow_robots:
            _tell(partition, crawl, origin, named)


def _tell(partition: Partition, crawl: Crawl, origin: str, named: list[str]) -> None:
    host = canonicalize(origin).host
    for entry in _entries(crawl, origin, named):
        # Anybody may name a sitemap of anybody: another host's is for crawls to which that host belongs.
        reason = refusal(crawl, host, canonicalize(entry.url), 0)
        partition.memory.send(sitemap(entry) if reason is None else decision(entry, f"sitemap_{reason}"))


def _entries(crawl: Crawl, origin: str, named: list[str]) -> Iterator[Entry]:
    parent = f"{origin}/robots.txt"
    for text in named:
        try:
            url = canonicalize(text, parent)
        except InvalidUrl:
            continue
        yield Entry(fingerprint(crawl.name, url.href), crawl.name, url.href, url.host, 0, 0, parent, 0, 0, 0.0, None)
