"""What HTML says about itself: title, links, robots directives. Parsed as browsers do (HTML Standard, by Lexbor)."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser

from schemas.url import join

MAX_TITLE_CHARS = 1_000

_DIRECTIVE_AGENTS = ("robots",)


class Link(NamedTuple):
    """An ``a`` or ``area`` element's target as it is written."""

    href: str
    nofollow: bool


class Markup(NamedTuple):
    """One parsed page."""

    title: str | None
    base: str
    """What relative references are resolved against (HTML Standard, 2.4.3)."""
    links: list[Link]
    directives: frozenset[str]
    """Of meta robots elements, lower case: ``nofollow``, ``noindex``, ``none``, ..."""


def read(html: str, url: str, robots_token: str) -> Markup:
    """Read one page that was found at ``url``."""
    tree = LexborHTMLParser(html)
    return Markup(
        title=_title(tree),
        base=_base(tree, url),
        links=list(_links(tree)),
        directives=frozenset(_directives(tree, (*_DIRECTIVE_AGENTS, robots_token.lower()))),
    )


def _title(tree: LexborHTMLParser) -> str | None:
    for node in tree.css("title"):
        # An SVG's title is not the page's.
        if node.parent is None or node.parent.tag == "svg":
            continue
        return " ".join(node.text(deep=True).split())[:MAX_TITLE_CHARS] or None
    return None


def _base(tree: LexborHTMLParser, url: str) -> str:
    node = tree.css_first("base[href]")
    href = node.attributes.get("href") if node is not None else None
    return (join(url, href) if href else None) or url


def _links(tree: LexborHTMLParser) -> Iterator[Link]:
    for node in tree.css("a[href], area[href]"):
        attributes = node.attributes
        href = attributes.get("href")
        if href is not None:
            rel = attributes.get("rel")
            yield Link(href, rel is not None and "nofollow" in rel.lower().split())


def _directives(tree: LexborHTMLParser, agents: tuple[str, ...]) -> Iterator[str]:
    for node in tree.css("meta[name][content]"):
        attributes = node.attributes
        if (attributes.get("name") or "").strip().lower() in agents:
            yield from _words(attributes.get("content") or "")


def header_directives(values: Iterable[str], robots_token: str) -> frozenset[str]:
    """The directives of X-Robots-Tag headers that are meant for everybody or for us.

    A value may begin with the name of an agent: ``otherbot: noindex`` is not for us, ``noindex, nofollow`` is.
    """
    found: set[str] = set()
    for value in values:
        agent, colon, rest = value.partition(":")
        named = bool(colon) and re.fullmatch(r"[\w-]+", agent.strip()) and agent.strip().lower() not in _VALUED
        if not named:
            found.update(_words(value))
        elif agent.strip().lower() in (*_DIRECTIVE_AGENTS, robots_token.lower()):
            found.update(_words(rest))
    return frozenset(found)


_VALUED = ("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after")


def _words(text: str) -> Iterator[str]:
    return (word for word in re.split(r"[\s,]+", text.lower()) if word)


def forbids_following(directives: frozenset[str]) -> bool:
    """Whether the page asks that none of its links be followed."""
    return not directives.isdisjoint({"nofollow", "none"})
