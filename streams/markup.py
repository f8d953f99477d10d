"""What HTML says about itself: title, links, robots directives. Parsed as browsers do (HTML Standard, by Lexbor)."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from schemas.url import join
from streams.srcset import candidates

MAX_TITLE_CHARS = 1_000

_MOST_IMAGES = 50
_MOST_META_CHARS = 4_000
_MOST_ANCHOR_CHARS = 200
_MOST_NOSCRIPT_CHARS = 500
_MOST_REFRESH_S = 10
"""A page that calls itself anew later than this is no redirect."""
_REFRESH = re.compile(r"""\s*(\d{1,6})(?:\.\d*)?\s*[;,]?\s*(?:url\s*=\s*)?(["']?)(.*)""", re.IGNORECASE | re.DOTALL)
_EVERYBODY = "robots"
_FEEDS = frozenset(("application/rss+xml", "application/atom+xml", "application/rdf+xml"))
_META_KINDS = ("name", "property", "itemprop", "http-equiv")
_AGENT = re.compile(r"\s*([\w-]+)\s*")
# Directives that take a value after a colon, where others have the name of an agent before it.
_VALUED = frozenset(("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"))


class Link(NamedTuple):
    """The target of an ``a``, ``area`` or ``frame`` element or of a refresh, as it is written."""

    href: str
    nofollow: bool
    text: str = ""
    """Of the anchor, white space collapsed, at most 200 characters."""


class Alternate(NamedTuple):
    """A link element that names the same in another form."""

    href: str
    is_translation: bool
    is_feed: bool


class Markup(NamedTuple):
    """One parsed page."""

    title: str | None
    """White space collapsed, at most :data:`MAX_TITLE_CHARS`."""
    base: str
    """What relative references are resolved against (HTML Standard, 2.4.3)."""
    links: list[Link]
    directives: frozenset[str]
    """Of meta robots elements, lower case: ``nofollow``, ``noindex``, ``none``, ..."""
    language: str | None = None
    """As the html element has it."""
    metas: dict[str, str] = {}
    """The first content of each name, property, itemprop or http-equiv, in lower case."""
    rels: dict[str, str] = {}
    """The first link element of each relation, in lower case, as it is written."""
    times: list[str] = []
    """Of time elements that say that they are the time of publication."""
    images: list[str] = []
    """As written, at most 50."""
    data: list[str] = []
    """JSON-LD blocks."""
    noscript: str = ""
    """What the first noscript element of the body has for readers without scripts."""
    alternates: list[Alternate] = []
    """Translations and feeds, as written."""


def parse(html: str) -> LexborHTMLParser:
    """The tree that a browser would make of it (HTML Standard, 13.2)."""
    return LexborHTMLParser(html)


def read(tree: LexborHTMLParser, url: str, robots_token: str) -> Markup:
    """Read one page that was found at ``url``."""
    # Asked for by name, one kind after the other: the parser has lists of them, which no selector is as fast as.
    metas, directives, target = _metas(tree, robots_token.lower())
    links = _links(tree)
    if target:
        links.append(Link(target, nofollow=False))
    rels, alternates = _relations(tree)
    base = next((href for node in tree.tags("base") if (href := node.attributes.get("href")) is not None), None)
    root = tree.root
    return Markup(
        next(
            (one_line(node.text(deep=True))[:MAX_TITLE_CHARS] for node in tree.tags("title") if not _in_drawing(node)),
            None,
        )
        or None,
        url if base is None else _base(url, base),
        links,
        frozenset(directives),
        root.attributes.get("lang") if root else None,
        metas,
        rels,
        _times(tree),
        _images(tree),
        [node.text(deep=True) for node in tree.tags("script") if _is_data(node.attributes.get("type"))],
        next((node.text(deep=True)[:_MOST_NOSCRIPT_CHARS] for node in tree.tags("noscript")), ""),
        alternates,
    )


def _relations(tree: LexborHTMLParser) -> tuple[dict[str, str], list[Alternate]]:
    rels: dict[str, str] = {}
    alternates: list[Alternate] = []
    for node in tree.tags("link"):
        attributes = node.attributes
        href, names = attributes.get("href") or "", (attributes.get("rel") or "").lower().split()
        for rel in names:
            rels.setdefault(rel, href)
        if "alternate" in names and "stylesheet" not in names:
            is_feed = (attributes.get("type") or "").strip().lower() in _FEEDS
            alternates.append(Alternate(href, bool(attributes.get("hreflang")) and not is_feed, is_feed))
    return rels, alternates


def _links(tree: LexborHTMLParser) -> list[Link]:
    found: list[Link] = []
    rare = tree.tags("area") or tree.tags("frame")
    for node in tree.css("a[href], area[href], frame[src]") if rare else tree.tags("a"):
        attributes = node.attributes
        href = attributes.get("href")
        if href is not None:
            rel = attributes.get("rel")
            nofollow = rel is not None and "nofollow" in rel.lower().split()
            found.append(Link(href, nofollow, attributes.get("alt") or "" if node.tag == "area" else _anchor(node)))
        elif node.tag == "frame":
            found.append(Link(attributes.get("src") or "", nofollow=False))
        elif "href" in attributes:
            found.append(Link("", nofollow=False, text=_anchor(node)))
    return found


def _anchor(node: LexborNode) -> str:
    first = node.first_child
    if first is None:
        return ""
    text = (first.text_content or "") if first.next is None and first.is_text_node else node.text(deep=True)
    return one_line(text[:_MOST_ANCHOR_CHARS])


def _metas(tree: LexborHTMLParser, robots_token: str) -> tuple[dict[str, str], set[str], str | None]:
    """Contents by name, robots directives, and where a refresh leads."""
    metas: dict[str, str] = {}
    directives: set[str] = set()
    target: str | None = None
    for node in tree.tags("meta"):
        attributes = node.attributes
        if "content" not in attributes:
            continue
        content = attributes["content"] or ""
        for kind in _META_KINDS:
            if kind in attributes and (written := attributes[kind]):
                name = written.strip().lower()
                if kind == "name" and name in (_EVERYBODY, robots_token):
                    directives.update(_words(content))
                elif kind == "http-equiv" and name == "refresh":
                    target = target or refresh(content)
                metas.setdefault(name, content[:_MOST_META_CHARS])
    return metas, directives, target


def _times(tree: LexborHTMLParser) -> list[str]:
    return [
        written
        for node in tree.tags("time")
        if (written := (attributes := node.attributes).get("datetime"))
        and ("pubdate" in attributes or "datepublished" in (attributes.get("itemprop") or "").lower())
    ]


def _images(tree: LexborHTMLParser) -> list[str]:
    found: list[str] = []
    for node in (*tree.tags("img"), *tree.tags("source")):
        attributes = node.attributes
        written = [attributes.get("src") or "", *candidates(attributes.get("srcset") or "")]
        found += [each for each in written if each and not each.startswith("data:")]
        if len(found) >= _MOST_IMAGES:
            break
    return found[:_MOST_IMAGES]


def _is_data(kind: str | None) -> bool:
    return kind is not None and kind.strip().lower().startswith("application/ld+json")


def one_line(text: str) -> str:
    """White space collapsed. Most text needs no work, and finding that out is a third of the work."""
    text = text.strip()
    return " ".join(text.split()) if "\n" in text or "  " in text or "\t" in text or "\xa0" in text else text


def refresh(content: str) -> str | None:
    """Where a refresh leads (HTML Standard, 4.2.5.3), if it does so at once and elsewhere."""
    match = _REFRESH.fullmatch(content)
    if match is None or int(match[1]) > _MOST_REFRESH_S:
        return None
    target = match[3].partition(match[2])[0] if match[2] else match[3]
    return target.strip() or None


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
