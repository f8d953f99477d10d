"""From a raw page to a document: pure, one function for each step."""

from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from http import HTTPStatus
from typing import Any, NamedTuple

from infra.settings import LinkSettings
from schemas.codings import declared, undo
from schemas.records import Document, Page
from schemas.url import Url
from streams import errorpages, hostility, maintext, markup, metadata, policy
from streams.charset import decode
from streams.fingerprint import simhash
from streams.maintext import MainText
from streams.markdown import markdown as as_markdown
from streams.media import MediaType, in_force, is_html, is_text
from streams.metadata import NOTHING, Metadata
from streams.outlinks import resolve
from streams.policy import Followed
from streams.scan import MAX_CHARS as MAX_SCANNED_CHARS
from streams.scan import scan
from streams.sites import NOTHING as NOTHING_OWN
from streams.sites import Own, Sites

VERSION = f"{maintext.NAME}/2"
MAX_BODY_BYTES = 10 * 2**20
"""Decoded."""
MAX_TEXT_BYTES = 8 * 2**20
"""Of a document's text as UTF-8: with its links it must fit into one record."""


class Cleaned(NamedTuple):
    """The document, and the links that may be followed from it."""

    document: Document
    follow: list[Url]
    feeds: list[Url]


class _Content(NamedTuple):
    title: str | None = None
    text: str = ""
    charset: str | None = None
    links: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    followed: Followed = Followed([], [])
    flags: tuple[str, ...] = ()
    words: int = 0
    headings: Sequence[str] = ()
    link_density: float = 0.0
    metadata: Metadata = NOTHING
    own: Own = NOTHING_OWN
    markdown: str = ""


def headers(head: bytes) -> dict[str, list[str]]:
    """The header fields of a response head by lower-case name; bytes beyond ASCII are read as latin-1."""
    found: dict[str, list[str]] = {}
    for line in head.decode("latin-1").split("\r\n")[1:]:
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip().lower(), []).append(value.strip())
    return found


class Opened(NamedTuple):
    """A page whose content codings are undone."""

    page: Page
    fields: dict[str, list[str]]
    kind: MediaType | None
    body: bytes
    flags: tuple[str, ...]

    @property
    def charset(self) -> str | None:
        """As the server named it."""
        return self.kind.parameters.get("charset") if self.kind else None

    @property
    def html(self) -> bool:
        """Whether it is read as HTML."""
        return is_html(self.kind, self.body)

    @property
    def costly(self) -> bool:
        """Whether cleaning it may take seconds, however well it is done."""
        return self.html and hostility.costly(self.body)


class Way(NamedTuple):
    """How to clean."""

    robots_token: str
    obey: bool
    """Whether directives of the whole page count."""
    parse: bool = True
    """``False`` reads HTML by patterns alone, in linear time and little memory."""
    markdown: bool = True
    """Whether the main text is wanted as Markdown too."""
    sites: Sites = Sites()
    links: LinkSettings = LinkSettings()

    def apart(self, opened: Opened) -> bool:
        """Whether the page belongs into a process that can be killed: it is costly, or others' rules read it."""
        return opened.html and (opened.costly or self.sites.about(opened.page.host))


def open_page(page: Page) -> Opened:
    """The first step, whose cost is bounded for any page."""
    fields = headers(page.head)
    decoded = undo(page.body, declared(fields.get("content-encoding", ())), MAX_BODY_BYTES)
    return Opened(page, fields, in_force(fields.get("content-type", ())), decoded.body, tuple(decoded.flags))


def clean(page: Page, robots_token: str, *, obey: bool, now: datetime) -> Cleaned:
    """The document of ``page``, made in this process whatever it costs."""
    return finish(open_page(page), Way(robots_token, obey), now)


def finish(opened: Opened, way: Way, now: datetime) -> Cleaned:
    """The document of an opened page."""
    page, kind = opened.page, opened.kind
    content = _html(opened, way) if opened.html else _plain(opened)
    own = content.own
    text, encoded = _fit(content.text)
    flags = [*opened.flags, *content.flags, *own.flags]
    if text is not content.text:
        flags.append("text_cut")
    markdown = content.markdown
    if len(encoded) + len(markdown.encode("utf-8", "replace")) > MAX_TEXT_BYTES:
        markdown = ""
        flags.append("markdown_left_out")
    document = Document(
        fetch_id=page.fetch_id,
        crawl=page.crawl,
        url=page.url,
        url_id=page.url_id,
        host=page.host,
        visit=page.visit,
        depth=page.depth,
        parent=page.parent,
        fetched_at=page.fetched_at,
        status=page.status,
        content_type=kind.essence if kind else None,
        charset=content.charset,
        text=text,
        links=list(content.links),
        content_hash=blake2b(encoded, digest_size=16).digest(),
        body_bytes=len(opened.body),
        cut=page.cut,
        flags=flags,
        cleaner="+".join((VERSION, *own.cleaners)),
        cleaned_at=now,
        headings=list(content.headings),
        anchors=list(content.anchors),
        words=content.words,
        link_density=round(content.link_density, 4),
        simhash=simhash(encoded),
        extracted=own.extracted,
        rules=way.sites.rules.version,
        markdown=markdown,
        **_about(content),
    )
    return Cleaned(document, *content.followed)


def _about(content: _Content) -> dict[str, Any]:
    """Title and metadata: what is said about the site goes before what the page says."""
    told: dict[str, Any] = {"title": content.title} | content.metadata._asdict()
    told |= {name: value for name, value in content.own.standard.items() if name in told}
    return told | {"sources": content.metadata.sources | content.own.sources}


def _html(opened: Opened, way: Way) -> _Content:
    page = opened.page
    html, charset = decode(opened.body, opened.charset, html=True)
    parsed, main, own, flags = _parsed(html, page, way)
    text = main.text
    resolved = resolve(parsed.base, parsed.links)
    if resolved.more:
        flags.append("too_many_links")
    asked = parsed.directives | markup.header_directives(opened.fields.get("x-robots-tag", ()), way.robots_token)
    if way.links.noindex != "ignore" and policy.forbids_index(asked):
        flags.append(policy.NOINDEX)
    followed = policy.follow(way.links, parsed, resolved, asked if way.obey else frozenset(), page.url)
    links = tuple(url.href for url in resolved.urls)
    if page.status == HTTPStatus.OK and (said := errorpages.mark(parsed.title, text, parsed.noscript)) is not None:
        flags.append(said)
    return _Content(
        parsed.title,
        text,
        charset,
        links,
        tuple(resolved.anchors),
        followed,
        tuple(flags),
        main.words,
        main.headings,
        main.link_density,
        metadata.read(parsed, text, page.fetched_at),
        own,
        as_markdown(main.blocks) if way.markdown and main.read else "",
    )


def _parsed(html: str, page: Page, way: Way) -> tuple[markup.Markup, MainText, Own, list[str]]:
    """What the page says about itself, its main text, what its site's rules find, and flags."""
    effort = hostility.judge(html) if way.parse else hostility.Effort.HOSTILE
    if effort is hostility.Effort.HOSTILE:
        flags = ["huge", "page_cut"] if len(html) > MAX_SCANNED_CHARS else ["huge"]
        parsed, text = scan(html, page.url)
        return parsed, maintext.unread(text), NOTHING_OWN, flags
    tree = markup.parse(html)
    parsed = markup.read(tree, page.url, way.robots_token)
    # Before the main text is looked for, which takes the tree apart.
    own = way.sites.read(page, parsed, html, tree)
    if (text_of_rule := own.standard.get("text")) is not None:
        return parsed, maintext.unread(text_of_rule), own, []
    if effort is hostility.Effort.LARGE:
        return parsed, maintext.unread(maintext.whole(tree)), own, ["huge"]
    return parsed, maintext.extract(tree, parsed.title), own, []


def _fit(text: str) -> tuple[str, bytes]:
    """The text and its bytes, both cut where they would not fit."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= MAX_TEXT_BYTES:
        return text, encoded
    text = encoded[:MAX_TEXT_BYTES].decode("utf-8", "ignore")
    return text, text.encode()


def _plain(opened: Opened) -> _Content:
    if not is_text(opened.kind, opened.body):
        return _Content(flags=("unsupported_type",))
    text, charset = decode(opened.body, opened.charset, html=False)
    return _Content(text=text, charset=charset, words=len(text.split()))
