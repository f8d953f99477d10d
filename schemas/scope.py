"""Scope: which links belong to a crawl. A pure decision, taken before a link is produced and again for redirects."""

import re
from collections.abc import Callable, Sequence
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
    return judge(crawl, source_host, depth)(target)


def judge(crawl: Crawl, source_host: str, depth: int) -> Callable[[Url], Refusal | None]:
    """:func:`refusal` for many targets of one page: what does not depend on the target is looked at once."""
    if crawl.max_depth is not None and depth > crawl.max_depth:
        return lambda _target: "too_deep"
    within = _within(crawl, source_host)
    exclude = _pattern(tuple(crawl.exclude)) if crawl.exclude else None
    include = _pattern(tuple(crawl.include)) if crawl.include else None

    def verdict(target: Url) -> Refusal | None:
        if not within(target):
            return "out_of_scope"
        if exclude is not None and exclude.search(target.href) is not None:
            return "excluded"
        if include is not None and include.search(target.href) is None:
            return "not_included"
        return None

    return verdict


def _within(crawl: Crawl, source_host: str) -> Callable[[Url], bool]:
    anchors = tuple(crawl.anchors)
    match ScopeKind(crawl.scope):
        case ScopeKind.ANY:
            return lambda _target: True
        case ScopeKind.HOST:
            hosts = _hosts(anchors)
            return lambda target: target.host == source_host or target.host in hosts
        case ScopeKind.DOMAIN:
            own, domains = registrable_domain(source_host), _domains(anchors)
            return lambda target: (domain := registrable_domain(target.host)) == own or domain in domains
        case ScopeKind.PREFIX:
            return lambda target: target.href.startswith(anchors)


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
