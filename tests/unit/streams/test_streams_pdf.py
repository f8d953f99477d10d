"""PDF: text in paragraphs, what the file tells about itself, links; whatever the file is, only it is lost."""

import asyncio
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pdf_files import pdf
from stream_pages import NOW, page

from streams.clean import Cleaned, finish
from streams.isolation import Isolation
from streams.opened import Way, open_page
from streams.pdf import iso_date, paragraphs, read, without_heads

WAY = Way("odradek", obey=True)
LONG = "This is a line that is as long as the page is wide and that does not end where the"
INFO = {
    "Title": "On Spools",
    "Author": "F. K.",
    "Subject": "Thread",
    "CreationDate": "D:20190130120000+01'00'",
    "ModDate": "D:2031",
}
FILE = pdf(
    [[LONG, "line ends. Caf\xe9 \u20ac.", "Short.", "\u2022 an item"], ["1. One"]],
    INFO,
    "http://h.test/x#f",
    "Chapter 1",
)


def made(body: bytes, *headers: str) -> Cleaned:
    """What a PDF becomes."""
    return finish(open_page(page(body, "Content-Type: application/pdf", *headers)), WAY, NOW)


def test_a_pdf_becomes_a_document() -> None:
    """Text, title, author, dates (never one in the future), outline, and the links of its annotations."""
    found, follow = made(pdf([[LONG, "line ends."], ["Short."]], INFO, "http://h.test/x#f", "Chapter 1"))
    assert found.text == f"{LONG} line ends.\nShort."
    assert (found.title, found.author, found.description) == ("On Spools", "F. K.", "Thread")
    assert (found.published, found.modified) == ("2019-01-30T12:00:00+01:00", None)
    assert found.sources["author"] == found.sources["published"] == "pdf"
    assert (found.headings, found.links) == (["# Chapter 1"], ["http://h.test/x"])
    assert [url.href for url in follow] == ["http://h.test/x"]
    assert (found.content_type, found.words, found.flags) == ("application/pdf", len(found.text.split()), [])


def test_a_pdf_is_one_by_its_first_bytes() -> None:
    """Also where it is declared as HTML or as bytes; its links are followed unless its header says not to."""
    for declared in ("text/html", "application/octet-stream"):
        document = finish(open_page(page(FILE, f"Content-Type: {declared}")), WAY, NOW).document
        assert document.title == "On Spools"
    assert made(FILE, "X-Robots-Tag: nofollow").follow == []


def test_a_pdf_is_read_in_the_other_process() -> None:
    """There the same as here; without it not at all, and marked."""

    async def run() -> None:
        opened = open_page(page(FILE, "Content-Type: application/pdf"))
        assert WAY.apart(opened)
        isolation = Isolation(timedelta(seconds=30), 1_024)
        try:
            assert await isolation.clean(opened, WAY, NOW) == finish(opened, WAY, NOW)
        finally:
            await isolation.close()
        gone = await Isolation(timedelta(milliseconds=1), 1_024).clean(opened, WAY, NOW)
        assert (gone.document.text, gone.document.flags) == ("", ["unread_pdf", "cleaner_died"])

    asyncio.run(run())


@pytest.mark.parametrize("body", [b"%PDF-1.7", b"%PDF-" + b"\0" * 500, FILE[:300], b"%PDF-1.7\nxref\n0 99999999\n"])
def test_a_broken_file_is_marked(body: bytes) -> None:
    """No text, no exception."""
    assert made(body).document.flags == ["broken_pdf"]
    assert made(body).document.text == ""


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_file_never_raises(data: st.DataObject) -> None:
    """Some bytes of a good file are others: a document all the same."""
    body = bytearray(FILE)
    for _ in range(data.draw(st.integers(1, 12))):
        body[data.draw(st.integers(5, len(body) - 1))] = data.draw(st.integers(0, 255))
    document = made(bytes(body)).document
    document.text.encode()


def test_heads_and_feet_are_left_out() -> None:
    """What stands at the edge of most pages, whatever number it has; what stands within is text."""
    pages = [[f"Annual report {number}", f"Text of {name}", "again", f"{number} of 4"] for number, name in
             ((1, "one"), (2, "two"), (3, "three"), (4, "four"))]  # fmt: skip
    pages[2].insert(2, "more")
    pages[2].insert(2, "again")
    left = list(without_heads(pages))
    assert "Annual report 1" not in left
    assert "1 of 4" not in left
    assert {"Text of one", "Text of four", "more"} <= set(left)
    assert list(without_heads([["Head", "text"], ["Head", "text"]])) == ["Head", "text"] * 2


@pytest.mark.parametrize(
    ("lines", "whole"),
    [
        ([LONG, LONG, "end.", "Next."], [f"{LONG} {LONG} end.", "Next."]),
        ([LONG, "\u2022 item", "1. item", "(a) item"], [LONG, "\u2022 item", "1. item", "(a) item"]),
        (["Title", LONG], ["Title", LONG]),
        ([f"{LONG}.", LONG], [f"{LONG}.", LONG]),
        ([], []),
    ],
)
def test_lines_are_joined_to_paragraphs(lines: list[str], whole: list[str]) -> None:
    """Full lines that end no sentence go on; headings, items and last lines do not."""
    assert list(paragraphs(iter(lines))) == whole


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("D:20190130120000+01'00'", "2019-01-30T12:00:00+01:00"),
        ("D:20190130120000Z", "2019-01-30T12:00:00Z"),
        ("D:20190130120000-05", "2019-01-30T12:00:00-05:00"),
        ("D:201901301200", "2019-01-30T12:00:00"),
        ("D:20190130", "2019-01-30"),
        ("D:2019", "2019-01-01"),
        ("yesterday", None),
        ("", None),
    ],
)
def test_a_date_of_pdf_becomes_one_of_iso_8601(text: str, meant: str | None) -> None:
    """As exact as it is."""
    assert iso_date(text) == meant


def test_the_text_of_a_large_file_is_bounded() -> None:
    """What is behind the limit is not read, and the document says so."""
    found = read(pdf([["word"]] * 2_100))
    assert found.flags == ("page_cut",)
    assert found.text.count("word") == 2_000


def test_plain_text_tells_its_language() -> None:
    """By its words, where there are enough."""
    text = (
        b"The crawler reads a page and writes what it has found. Then it waits for a while, because the server is not "
        b"its own and other people want to read there too. After that the next page comes, until nothing is left."
    )
    document = finish(open_page(page(text, "Content-Type: text/plain")), WAY, NOW).document
    assert (document.language, document.sources) == ("en", {"language": "text"})
