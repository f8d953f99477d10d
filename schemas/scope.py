"""Scope: which links belong to a crawl. A pure decision, taken before a link is produced and again for redirects."""

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Literal

from schemas.records import Crawl
from schemas.url import Url, registrable_domain, split

Refusal = Literal["out_of_scope", "excluded", "not_included", "too_deep"]


class ScopeKind(StrEnum):
    """How far from its seeds a crawl may go."""

    HOST = "host"
    DOMAIN = "domain"
    PREFIX = "prefix"
    ANY = "any"


def refusal(crawl: Crawl, source_host: str, target: Url, depth: int) -> Refusal | None:
    """Why ``target``, found ``depth`` steps from a seed on a page of ``source_host``, is not crawled; else ``None``.

    A link stays within the host (or the registrable domain) of the page that holds it, or goes to that of any anchor
    of the crawl. ``prefix`` needs anchors: the target has to begin with one of them.
    """
    if crawl.max_depth is not None and depth > crawl.max_depth:
        return "too_deep"
    if not _within(crawl, source_host, target):
        return "out_of_scope"
    if crawl.exclude and _matches(tuple(crawl.exclude), target.href):
        return "excluded"
    if crawl.include and not _matches(tuple(crawl.include), target.href):
        return "not_included"
    return None


def _within(crawl: Crawl, source_host: str, target: Url) -> bool:
    match ScopeKind(crawl.scope):
        case ScopeKind.ANY:
            return True
        case ScopeKind.HOST:
            return target.host == source_host or target.host in _hosts(tuple(crawl.anchors))
        case ScopeKind.DOMAIN:
            domain = registrable_domain(target.host)
            return domain == registrable_domain(source_host) or domain in _domains(tuple(crawl.anchors))
        case ScopeKind.PREFIX:
            return target.href.startswith(tuple(crawl.anchors))


def broken_pattern(patterns: Sequence[str]) -> str | None:
    """What is wrong with the first pattern that is no regular expression; ``None`` when all are."""
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            return f"{pattern!r} is no regular expression: {error}"
    return None


@lru_cache(maxsize=1_024)
def _hosts(anchors: Sequence[str]) -> frozenset[str]:
    return frozenset(split(anchor).host for anchor in anchors)


@lru_cache(maxsize=1_024)
def _domains(anchors: Sequence[str]) -> frozenset[str]:
    return frozenset(map(registrable_domain, _hosts(anchors)))


@lru_cache(maxsize=1_024)
def _pattern(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


def _matches(patterns: Sequence[str], href: str) -> bool:
    return _pattern(patterns).search(href) is not None
