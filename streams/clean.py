"""From a raw page to a document: pure, one function for each step."""

from datetime import datetime
from hashlib import blake2b
from typing import Any, NamedTuple

from schemas.records import Document, Page
from schemas.url import Url
from streams import maintext
from streams.content import Content, read
from streams.fingerprint import simhash
from streams.opened import Opened, Way, open_page

VERSION = f"{maintext.NAME}/3"
MAX_TEXT_BYTES = 8 * 2**20
"""Of a document's text as UTF-8: with its links it must fit into one record."""


class Cleaned(NamedTuple):
    """The document, and the links that may be followed from it."""

    document: Document
    follow: list[Url]


def clean(page: Page, robots_token: str, *, obey: bool, now: datetime) -> Cleaned:
    """The document of ``page``, made in this process whatever it costs."""
    return finish(open_page(page), Way(robots_token, obey), now)


def finish(opened: Opened, way: Way, now: datetime) -> Cleaned:
    """The document of an opened page."""
    page, kind = opened.page, opened.kind
    content = read(opened, way)
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
    return Cleaned(document, list(content.follow))


def _about(content: Content) -> dict[str, Any]:
    """Title and metadata: what is said about the site goes before what the page says."""
    told: dict[str, Any] = {"title": content.title} | content.metadata._asdict()
    told |= {name: value for name, value in content.own.standard.items() if name in told}
    return told | {"sources": content.metadata.sources | content.own.sources}


def _fit(text: str) -> tuple[str, bytes]:
    """The text and its bytes, both cut where they would not fit."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= MAX_TEXT_BYTES:
        return text, encoded
    text = encoded[:MAX_TEXT_BYTES].decode("utf-8", "ignore")
    return text, text.encode()
