"""PDF (ISO 32000), read by PDFium, the reader of a browser. To be called in a process that can be killed.

A PDF has lines, no paragraphs: those that were broken for the width of the page are joined again, and what stands at
the head or foot of most pages is left out.
"""

import ctypes
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

import pypdfium2
from pypdfium2 import raw

from streams import structured

MOST_PAGES = 2_000
MOST_CHARS = 8 * 2**20
_MOST_LINKS = 10_000
_MOST_URL_BYTES = 2_048
_MOST_HEADINGS = 1_000
_MOST_LINE_CHARS = 2_000
_NEEDS_PASSWORD = "password"  # noqa: S105  # a word of an error message

_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([+-])(\d\d)'?(\d\d)?'?)?")
# How PDFium writes a hyphen that is there for the end of a line alone.
_BROKEN_WORD = re.compile("[\u0002\u00ad\ufffe]\r?\n?")
_CONTROL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_BULLET = re.compile(r"(?:[\u2022\u2023\u25aa\u25cf\u25e6\u2013*-]|\(?\w{1,3}[.)])\s")
_ENDS = (".", "!", "?", ":", ";", "\u3002")
_FULL_LINE = 0.75


class Pdf(NamedTuple):
    """What the file holds; ``None`` and empty where it has nothing."""

    title: str | None = None
    author: str | None = None
    subject: str | None = None
    created: str | None = None
    modified: str | None = None
    """Both ISO 8601."""
    text: str = ""
    headings: Sequence[str] = ()
    """Of its outline: as many ``#`` as the level, a space, the heading."""
    links: Sequence[str] = ()
    """As they are written, in the order of the pages."""
    flags: tuple[str, ...] = ()


def read(body: bytes) -> Pdf:
    """What is in the file: one that is broken or wants a password is flagged."""
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        return Pdf(flags=("encrypted_pdf" if _NEEDS_PASSWORD in str(error).lower() else "broken_pdf",))
    try:
        return _read(document)
    finally:
        document.close()


def _read(document: pypdfium2.PdfDocument) -> Pdf:
    flags: list[str] = []
    pages: list[list[str]] = []
    links: list[str] = []
    room = MOST_CHARS
    for number in range(len(document)):
        if number >= MOST_PAGES or room < 0:
            flags.append("page_cut")
            break
        try:
            page = document[number]
            text = page.get_textpage().get_text_bounded()
            links += _links(document, page) if len(links) < _MOST_LINKS else []
        except pypdfium2.PdfiumError:
            # One page is broken; the others are not.
            flags.append("broken_pdf")
            continue
        room -= len(text)
        pages.append(_lines(text))
    told = document.get_metadata_dict()
    return Pdf(
        title=_told(told.get("Title")),
        author=_told(told.get("Author")),
        subject=_told(told.get("Subject")),
        created=iso_date(told.get("CreationDate", "")),
        modified=iso_date(told.get("ModDate", "")),
        text="\n".join(paragraphs(without_heads(pages))),
        headings=tuple(_headings(document)),
        links=tuple(dict.fromkeys(links)),
        flags=tuple(dict.fromkeys(flags)),
    )


def _told(text: str | None) -> str | None:
    return structured.clean(" ".join(_CONTROL.sub("", text or "").split()))[:_MOST_LINE_CHARS] or None


def _lines(text: str) -> list[str]:
    whole = _CONTROL.sub("", structured.clean(_BROKEN_WORD.sub("", text)))
    return [line for each in whole.splitlines() if (line := " ".join(each.split()))]


def _headings(document: pypdfium2.PdfDocument) -> Iterator[str]:
    room = _MOST_HEADINGS
    for bookmark in document.get_toc(max_depth=6):
        if room == 0:
            return
        room -= 1
        if title := _told(bookmark.get_title()):
            yield f"{'#' * min(6, bookmark.level + 1)} {title}"


def _links(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage) -> Iterator[str]:
    """The addresses of a page's annotations (ISO 32000-1, 12.6.4.7)."""
    place, link = ctypes.c_int(0), raw.FPDF_LINK()
    for _ in range(_MOST_LINKS):
        if not raw.FPDFLink_Enumerate(page, place, link):
            return
        action = raw.FPDFLink_GetAction(link)
        if not action or raw.FPDFAction_GetType(action) != raw.PDFACTION_URI:
            continue
        length = raw.FPDFAction_GetURIPath(document, action, None, 0)
        if 1 < length <= _MOST_URL_BYTES:
            buffer = ctypes.create_string_buffer(length)
            raw.FPDFAction_GetURIPath(document, action, buffer, length)
            yield buffer.value.decode("utf-8", "replace")


def iso_date(text: str) -> str | None:
    """A date of PDF (ISO 32000-1, 7.9.4) in ISO 8601, as exact as it is; ``None`` for none."""
    match = _DATE.match(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second, utc, sign, offset, offset_minutes = match.groups()
    written = f"{year}-{month or '01'}-{day or '01'}"
    if hour is None:
        return written
    zone = "Z" if utc else f"{sign}{offset}:{offset_minutes or '00'}" if sign else ""
    return f"{written}T{hour}:{minute or '00'}:{second or '00'}{zone}"


def without_heads(pages: Sequence[list[str]]) -> Iterator[str]:
    """The lines of all pages, without those that stand first or last on most of them, whatever their numbers."""
    ends = [{_shape(line) for line in (*page[:2], *page[-2:])} for page in pages]
    often = Counter(shape for each in ends for shape in each)
    heads = {shape for shape, count in often.items() if len(pages) > 2 and count > len(pages) / 2}
    for page in pages:
        last = len(page) - 2
        left = [line for place, line in enumerate(page) if 2 <= place < last or _shape(line) not in heads]
        # A page of nothing else says what it says.
        yield from left or page


def _shape(line: str) -> str:
    return re.sub(r"\d+|\b[ivxlc]+\b", "#", line[:_MOST_LINE_CHARS])


def paragraphs(lines: Iterator[str]) -> Iterator[str]:
    """Lines that go on in the next one joined with it: full ones that end no sentence, before one that begins none."""
    found = list(lines)
    full_chars = _FULL_LINE * median(map(len, found)) if found else 0
    whole: list[str] = []
    for line in found:
        before = whole[-1] if whole else ""
        goes_on = len(before) >= full_chars and not before.endswith(_ENDS) and not _BULLET.match(line)
        if whole and goes_on:
            whole.append(line)
            continue
        if whole:
            yield " ".join(whole)
        whole = [line]
    if whole:
        yield " ".join(whole)
