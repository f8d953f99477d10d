"""What HTML says about itself: title, links, robots directives. Parsed as browsers do (HTML Standard, by Lexbor)."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from schemas.url import join

MAX_TITLE_CHARS = 1_000

# One walk over the tree for everything that is looked for.
_WANTED = "a[href], area[href], base[href], meta[name][content], title"
_EVERYBODY = "robots"
_AGENT = re.compile(r"\s*([\w-]+)\s*")
# Directives that take a value after a colon, where others have the name of an agent before it.
_VALUED = frozenset(("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"))


class Link(NamedTuple):
    """An ``a`` or ``area`` element's target as it is written."""

    href: str
    nofollow: bool


class Markup(NamedTuple):
    """One parsed page."""

    title: str | None
    """White space collapsed, at most :data:`MAX_TITLE_CHARS`."""
    base: str
    """What relative references are resolved against (HTML Standard, 2.4.3)."""
    links: list[Link]
    directives: frozenset[str]
    """Of meta robots elements, lower case: ``nofollow``, ``noindex``, ``none``, ..."""


def parse(html: str) -> LexborHTMLParser:
    """The tree that a browser would make of it (HTML Standard, 13.2)."""
    return LexborHTMLParser(html)


def read(tree: LexborHTMLParser, url: str, robots_token: str) -> Markup:
    """Read one page that was found at ``url``."""
    title: str | None = None
    base: str | None = None
    links: list[Link] = []
    directives: set[str] = set()
    for node in tree.css(_WANTED):
        tag = node.tag
        attributes = node.attributes
        if tag in {"a", "area"}:
            rel = attributes.get("rel")
            links.append(Link(attributes["href"] or "", rel is not None and "nofollow" in rel.lower().split()))
        elif tag == "meta":
            if (attributes["name"] or "").strip().lower() in (_EVERYBODY, robots_token.lower()):
                directives.update(_words(attributes["content"] or ""))
        elif tag == "base":
            base = base or _base(url, attributes["href"] or "")
        elif title is None and not _in_drawing(node):
            title = " ".join(node.text(deep=True).split())[:MAX_TITLE_CHARS]
    return Markup(title or None, base or url, links, frozenset(directives))


def _in_drawing(node: LexborNode) -> bool:
    """An SVG's title is not the page's."""
    parent = node.parent
    while parent is not None and parent.tag not in {"head", "body", "svg"}:
        parent = parent.parent
    return parent is not None and parent.tag == "svg"


def _base(url: str, href: str) -> str:
    """The first base element counts, also when it is of no use (HTML Standard, 4.2.3)."""
    joined = join(url, href)
    return url if joined is None or joined.startswith(("data:", "javascript:")) else joined


def header_directives(values: Iterable[str], robots_token: str) -> frozenset[str]:
    """The directives of X-Robots-Tag headers that are meant for everybody or for us.

    A value may begin with the name of an agent: ``otherbot: noindex`` is not for us, ``noindex, nofollow`` is.
    """
    found: set[str] = set()
    for value in values:
        agent, colon, rest = value.partition(":")
        name = _AGENT.fullmatch(agent) if colon else None
        if name is None or name[1].lower() in _VALUED:
            found.update(_words(value))
        elif name[1].lower() in (_EVERYBODY, robots_token.lower()):
            found.update(_words(rest))
    return frozenset(found)


def _words(text: str) -> Iterator[str]:
    return (word for word in re.split(r"[\s,]+", text.lower()) if word)


def forbids_following(directives: frozenset[str]) -> bool:
    """Whether the page asks that none of its links be followed."""
    return not directives.isdisjoint({"nofollow", "none"})
