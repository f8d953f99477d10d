"""What a sitemap or a feed names: sitemaps.org protocol 0.9, RSS 0.9 to 2.0, Atom (RFC 4287), or URLs line by line.

Whoever writes one of these chooses what is parsed here, so nothing in it costs more than its size: no entities, no
document type, no depth, 50 MiB and 50,000 URLs as the protocol has them. What is broken is read as far as it goes.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from lxml import etree

from schemas.url import InvalidUrl, Url, canonicalize
from streams.dates import read as read_date

MAX_BYTES = 50 * 2**20
"""Decoded."""
MAX_URLS = 50_000
"""What follows is left out."""

_BEGINNING = re.compile(rb"<\?xml\s|<!DOCTYPE|<(?:\w+:)?(?:urlset|sitemapindex|rss|RDF|feed)[\s>]", re.IGNORECASE)
_MOST_JUNK_BYTES = 4_096
_CHUNK_BYTES = 2**16
_ENTRIES = {"urlset": "url", "sitemapindex": "sitemap", "rss": "item", "RDF": "item", "feed": "entry"}
"""The root of each kind, and what its entries are called."""
_TAGS = tuple(f"{{*}}{name}" for name in sorted({*_ENTRIES.values(), "link"}))
_DATES = ("lastmod", "updated", "pubDate", "date", "published")
_LINE_CHARS = 4_000


class Named(NamedTuple):
    """One URL that a sitemap names."""

    url: Url
    priority: float | None
    """From 0 to 1; the protocol's default is 0.5."""
    modified: datetime | None
    """Never later than the sitemap was fetched."""


class Sitemap(NamedTuple):
    """What was found."""

    pages: list[Named]
    sitemaps: list[Named]
    """More of its kind: of an index, or the next page of a feed."""
    flags: tuple[str, ...]
    """What is wrong: ``not_a_sitemap``, ``doctype``, ``broken_xml``, ``too_many_urls``."""
    translations: list[Named] = []
    """Of pages, as a sitemap names them beside their own (``xhtml:link``)."""


def read(body: bytes, base: str, fetched_at: datetime) -> Sitemap:
    """What ``body``, content codings undone, names; ``base`` is where it was found. Never raises."""
    text = body[:MAX_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")
    if text[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return _Reader(base, fetched_at).read(text)
    # Programs that make them print their complaints first.
    if (begin := _BEGINNING.search(text, 0, _MOST_JUNK_BYTES)) is not None:
        text = text[begin.start() :]
    if text[:1] != b"<":
        return _lines(text, base)
    # Half an address is another address.
    whole = text if text.rstrip().endswith(b">") else text[: text.rindex(b"<")]
    return _Reader(base, fetched_at).read(whole)


def _lines(body: bytes, base: str) -> Sitemap:
    """A text file: a URL a line, and nothing else."""
    pages: list[Named] = []
    flags: set[str] = set()
    for line in body.split(b"\n"):
        text = line[:_LINE_CHARS].strip().decode("utf-8", "replace")
        if not text.startswith(("http://", "https://")):
            flags.update(["not_a_sitemap"] if text else [])
        elif len(pages) == MAX_URLS:
            flags.add("too_many_urls")
            break
        elif (url := _url(text, base)) is not None:
            pages.append(Named(url, None, None))
    return Sitemap(pages, [], tuple(sorted(flags if pages else {"not_a_sitemap"})))


def _url(text: str, base: str) -> Url | None:
    try:
        return canonicalize(text.strip(), base)
    except InvalidUrl:
        return None


class _Reader:
    """Reads XML piece by piece, and forgets each piece."""

    def __init__(self, base: str, fetched_at: datetime) -> None:
        self._base = base
        self._fetched_at = fetched_at
        self._pages: list[Named] = []
        self._sitemaps: list[Named] = []
        self._translations: list[Named] = []
        self._flags: set[str] = set()
        self._root: str | None = None

    def read(self, body: bytes) -> Sitemap:
        parser = etree.XMLPullParser(
            events=("end",), tag=_TAGS, recover=True, resolve_entities=False, no_network=True, load_dtd=False,
            huge_tree=False, remove_comments=True, remove_pis=True,
        )  # fmt: skip
        try:
            for begin in range(0, len(body), _CHUNK_BYTES):
                parser.feed(body[begin : begin + _CHUNK_BYTES])
                if not self._take_all(parser):
                    break
            else:
                self._end(parser)
        except etree.XMLSyntaxError:
            self._flags.add("broken_xml" if self._root in _ENTRIES else "not_a_sitemap")
        return Sitemap(self._pages, self._sitemaps, tuple(sorted(self._flags)), self._translations)

    def _end(self, parser: etree.XMLPullParser) -> None:
        root = parser.close()
        if not self._take_all(parser):
            return
        if root is None or not self._begin(root):
            self._flags.update(() if self._flags else ("not_a_sitemap",))
        elif any(error.level >= etree.ErrorLevels.FATAL for error in parser.feed_error_log):
            self._flags.add("broken_xml")

    def _begin(self, element: etree._Element) -> bool:
        """Whether it is worth going on: by the root, and by what stands before it."""
        tree = element.getroottree()
        self._root = _name(tree.getroot())
        if tree.docinfo.internalDTD is not None or tree.docinfo.doctype:
            # No sitemap needs one; a page of HTML has one, and so has whatever would grow when it is read.
            self._flags.add("doctype" if self._root in _ENTRIES else "not_a_sitemap")
            return False
        return self._root in _ENTRIES

    def _take_all(self, parser: etree.XMLPullParser) -> bool:
        return all(self._take(element) for _, element in parser.read_events())

    def _take(self, element: etree._Element) -> bool:
        """Take one element; ``False`` when nothing more is wanted."""
        if self._root is None and not self._begin(element):
            self._flags.update(() if self._flags else ("not_a_sitemap",))
            return False
        name, parent = _name(element), element.getparent()
        if name == "link":
            if element.get("rel") == "next" and parent is not None and _name(parent) in ("feed", "channel"):
                self._add(self._sitemaps, element.get("href"), None, None)
        elif name == _ENTRIES.get(self._root or ""):
            self._entry(element)
            element.clear()
            # Neither do those before it stay: a tree of 50 MiB would take ten times as much.
            while parent is not None and element.getprevious() is not None:
                del parent[0]
        if len(self._pages) + len(self._sitemaps) + len(self._translations) < MAX_URLS:
            return True
        self._flags.add("too_many_urls")
        return False

    def _entry(self, element: etree._Element) -> None:
        children = [(_name(child), child) for child in element]
        texts = {name: _text(child) for name, child in reversed(children)}
        href = texts.get("loc") or next(_hrefs(children), None) or texts.get("link") or _permalink(children)
        to = self._sitemaps if self._root == "sitemapindex" else self._pages
        modified = next((texts[name] for name in _DATES if name in texts), None)
        self._add(to, href, texts.get("priority"), modified)
        if self._root == "urlset":
            for translation in _hrefs(children):
                self._add(self._translations, translation, texts.get("priority"), modified)

    def _add(self, to: list[Named], href: str | None, priority: str | None, modified: str | None) -> None:
        url = _url(href, self._base) if href else None
        if url is not None:
            to.append(Named(url, _priority(priority), self._moment(modified)))

    def _moment(self, text: str | None) -> datetime | None:
        found = read_date(text, self._fetched_at) if text else None
        if found is None:
            return None
        moment = datetime.fromisoformat(found)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _name(element: etree._Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _text(element: etree._Element) -> str:
    return "".join(element.itertext()).strip()


def _hrefs(children: list[tuple[str, etree._Element]]) -> Iterator[str]:
    """Of an Atom entry: where what it tells about can be read."""
    for name, child in children:
        if name == "link" and child.get("rel", "alternate") == "alternate" and child.get("href"):
            yield child.get("href")


def _permalink(children: list[tuple[str, etree._Element]]) -> str | None:
    """Of an RSS item without a link: its name, where that is an address."""
    for name, child in children:
        if name == "guid" and child.get("isPermaLink", "true") == "true" and _text(child).startswith("http"):
            return _text(child)
    return None


def _priority(text: str | None) -> float | None:
    try:
        priority = float(text or "nan")
    except ValueError:
        return None
    return priority if 0 <= priority <= 1 else None
