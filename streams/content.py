"""What a page holds, by its kind: HTML, PDF or plain text."""

from collections.abc import Sequence
from datetime import datetime
from http import HTTPStatus
from typing import NamedTuple

from schemas.records import Page
from schemas.url import Url
from streams import dates, errorpages, hostility, maintext, markup, metadata, pdf
from streams.charset import decode
from streams.maintext import MainText
from streams.markdown import markdown as as_markdown
from streams.markup import Link
from streams.media import is_text
from streams.metadata import NOTHING, Metadata
from streams.opened import Opened, Way
from streams.outlinks import resolve
from streams.scan import MAX_CHARS as MAX_SCANNED_CHARS
from streams.scan import scan
from streams.sites import NOTHING as NOTHING_OWN
from streams.sites import Own


class Content(NamedTuple):
    """Everything of a document that is read from the page's body."""

    title: str | None = None
    text: str = ""
    charset: str | None = None
    links: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    follow: tuple[Url, ...] = ()
    flags: tuple[str, ...] = ()
    words: int = 0
    headings: Sequence[str] = ()
    link_density: float = 0.0
    metadata: Metadata = NOTHING
    own: Own = NOTHING_OWN
    markdown: str = ""


def read(opened: Opened, way: Way) -> Content:
    """What the page holds; one of a kind that cannot be read is flagged."""
    if opened.html:
        return html(opened, way)
    return pdf_file(opened, way) if opened.pdf else plain(opened)


def html(opened: Opened, way: Way) -> Content:
    """Of a page in HTML: a parsed one, or what patterns find in one that must not be parsed."""
    page = opened.page
    text_of_page, charset = decode(opened.body, opened.charset, html=True)
    parsed, main, own, flags = _parsed(text_of_page, page, way)
    text = main.text
    resolved = resolve(parsed.base, parsed.links)
    if resolved.more:
        flags.append("too_many_links")
    asked = markup.header_directives(opened.fields.get("x-robots-tag", ()), way.robots_token)
    obeyed = parsed.directives | asked if way.obey else frozenset[str]()
    follow = () if markup.forbids_following(obeyed) else tuple(resolved.follow)
    links = tuple(url.href for url in resolved.urls)
    if page.status == HTTPStatus.OK and (said := errorpages.mark(parsed.title, text, parsed.noscript)) is not None:
        flags.append(said)
    return Content(
        title=parsed.title,
        text=text,
        charset=charset,
        links=links,
        anchors=tuple(resolved.anchors),
        follow=follow,
        flags=tuple(flags),
        words=main.words,
        headings=main.headings,
        link_density=main.link_density,
        metadata=metadata.read(parsed, text, page.fetched_at),
        own=own,
        markdown=as_markdown(main.blocks) if way.markdown and main.read else "",
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


def pdf_file(opened: Opened, way: Way) -> Content:
    """Of a PDF; to be called in a process that can be killed."""
    if not way.parse:
        return Content(flags=("unread_pdf",))
    found, page = pdf.read(opened.body), opened.page
    resolved = resolve(page.url, [Link(href, nofollow=False) for href in found.links])
    asked = markup.header_directives(opened.fields.get("x-robots-tag", ()), way.robots_token)
    forbidden = way.obey and markup.forbids_following(asked)
    return Content(
        title=found.title,
        text=found.text,
        links=tuple(url.href for url in resolved.urls),
        anchors=tuple(resolved.anchors),
        follow=() if forbidden else tuple(resolved.follow),
        flags=found.flags,
        words=len(found.text.split()),
        headings=found.headings,
        metadata=_of_pdf(found, page.fetched_at),
    )


def _of_pdf(found: pdf.Pdf, fetched_at: datetime) -> Metadata:
    """Dates are those of the file, which is what a PDF has."""
    about = NOTHING._replace(
        language=metadata.language_of(found.text),
        author=found.author,
        published=dates.read(found.created or "", fetched_at),
        modified=dates.read(found.modified or "", fetched_at),
        description=found.subject,
    )
    sources = {name: "pdf" for name in ("author", "published", "modified", "description") if getattr(about, name)}
    return about._replace(sources=sources | ({"language": "text"} if about.language else {}))


def plain(opened: Opened) -> Content:
    """Of text that is neither; its language is that of its words."""
    if not is_text(opened.kind, opened.body):
        return Content(flags=("unsupported_type",))
    text, charset = decode(opened.body, opened.charset, html=False)
    language = metadata.language_of(text)
    sources = {"language": "text"} if language else {}
    about = NOTHING._replace(language=language, sources=sources)
    return Content(text=text, charset=charset, words=len(text.split()), metadata=about)
