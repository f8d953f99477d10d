"""What a page asks of robots, and which of its links are followed therefore. Pure."""

from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from infra.settings import LinkSettings
from schemas.records import Decision, Document
from schemas.url import InvalidUrl, Url, canonicalize
from streams.markup import Alternate, Markup
from streams.outlinks import Resolved

MOST_ALTERNATES = 200
"""Of a page: there are not many more languages on one site."""
NOINDEX = "noindex"
_FORBIDS_INDEX, _FORBIDS_FOLLOWING = frozenset({NOINDEX, "none"}), frozenset({"nofollow", "none"})


class Followed(NamedTuple):
    """What may be followed from a page."""

    pages: list[Url]
    feeds: list[Url]


def follow(policy: LinkSettings, parsed: Markup, resolved: Resolved, directives: frozenset[str], url: str) -> Followed:
    """The links of the page at ``url`` that may be followed, those in the text first.

    ``directives`` are those of the whole page, from wherever they came, as far as they count.
    """
    if forbids_following(policy, directives):
        return Followed([], [])
    pages = dict.fromkeys(resolved.follow if policy.nofollow == "obey" else resolved.urls)
    more = [parsed.rels.get("canonical", "")] if policy.canonical == "follow" else []
    if policy.hreflang == "follow":
        more += _hrefs(each for each in parsed.alternates if each.is_translation)
    pages.update((found, None) for found in _resolved(more, parsed.base) if found.href != url)
    feeds = _hrefs(each for each in parsed.alternates if each.is_feed) if policy.feeds == "follow" else []
    return Followed(list(pages), _resolved(feeds, parsed.base))


def not_indexed(document: Document, now: datetime) -> Decision:
    """Why there is no document of a page that was fetched."""
    return Decision(
        crawl=document.crawl,
        url=document.url,
        url_id=document.url_id,
        host=document.host,
        stage="streams",
        reason=NOINDEX,
        depth=document.depth,
        at=now,
    )


def forbids_following(policy: LinkSettings, directives: frozenset[str]) -> bool:
    """Whether none of the page's links may be followed."""
    return policy.nofollow == "obey" and not directives.isdisjoint(_FORBIDS_FOLLOWING)


def marks(policy: LinkSettings, directives: frozenset[str]) -> bool:
    """Whether the page asks not to be kept, and that is heeded."""
    return policy.noindex != "ignore" and not directives.isdisjoint(_FORBIDS_INDEX)


def _hrefs(alternates: Iterable[Alternate]) -> list[str]:
    return [each.href for each in islice(alternates, MOST_ALTERNATES)]


def _resolved(hrefs: Iterable[str], base: str) -> list[Url]:
    found: dict[Url, None] = {}
    for href in filter(None, map(str.strip, hrefs)):
        try:
            found[canonicalize(href, base)] = None
        except InvalidUrl:
            continue
    return list(found)
