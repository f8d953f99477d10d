"""From bytes to documents: what browsers keep is kept, and nothing raises."""

import base64
import gzip
import json
import zlib
from pathlib import Path

import brotli
import pytest
from lxml import html as lxml_html
from stream_pages import URL, cleaned

from schemas.url import InvalidUrl, canonicalize
from schemas.wire import encode
from streams import charset, markup, media
from streams.clean import MAX_TEXT_BYTES
from streams.outlinks import resolve

HTML = "text/html; charset=utf-8"
BODY = b"<title>T</title><p>one</p><a href=/x>l</a>"


def rows(path: Path) -> list[dict[str, object]]:
    """The cases of one file."""
    return [json.loads(line) for line in path.read_text().split("\n") if line]


def test_encodings_agree_with_the_html5lib_cases(cases: Path) -> None:
    """The encoding of each body without a header is the one that the standard's algorithm gives."""
    wrong = []
    for row in rows(cases / "html5lib_encoding.jsonl"):
        given = row["input"]
        assert isinstance(given, dict)
        body = base64.b64decode(given["body_b64"])
        found, expected = charset.decode(body, None, html=True).charset, charset.known(str(row["expected"]))
        if not given["scripted"] and found != expected:
            wrong.append((body[:80], expected, found))
    assert wrong == []


def test_content_types_are_read_as_the_mime_sniffing_standard_says(cases: Path) -> None:
    """Essence and charset of each case agree; what is no media type is none."""
    wrong: list[object] = []
    for row in rows(cases / "wpt_mime_parse.jsonl"):
        text = row["input"]
        assert isinstance(text, str)
        expected, found = row["expected"], media.parse(text)
        if not isinstance(expected, dict) or expected.get("mime") is None:
            if found is not None:
                wrong.append((text, None, found.essence))
        elif found is None or found.essence != expected["mime"].partition(";")[0]:
            wrong.append((text, expected["mime"], found))
        elif charset.known(found.parameters.get("charset")) != charset.known(expected["charset"]):
            wrong.append((text, expected["charset"], found))
    assert wrong == []


def test_links_agree_with_the_scrapy_cases(cases: Path) -> None:
    """The set of links of each case without options is the expected one; nofollow too."""

    def canonical(url: str) -> str | None:
        try:
            return canonicalize(url).href
        except InvalidUrl:
            return None

    wrong = []
    for row in rows(cases / "scrapy_link_extraction.jsonl"):
        given, expected = row["input"], row["expected"]
        assert isinstance(given, dict)
        assert isinstance(expected, list)
        if given["options"]:
            continue
        text = base64.b64decode(given["body_b64"]).decode(given["encoding"], "replace")
        parsed = markup.read(markup.parse(text), given["url"], "odradek")
        found = {url.href for url in resolve(parsed.base, parsed.links).urls}
        wanted = {href for each in expected if (href := canonical(each["url"])) is not None}
        if found != wanted:
            wrong.append((given["url"], sorted(found ^ wanted)))
    assert wrong == []


@pytest.mark.parametrize(
    ("coding", "body", "flags"),
    [
        ("gzip", gzip.compress(BODY), []),
        ("x-gzip", gzip.compress(BODY), []),
        ("deflate", zlib.compress(BODY), []),
        ("deflate", zlib.compress(BODY)[2:-4], []),
        ("br", brotli.compress(BODY), []),
        ("gzip, gzip", gzip.compress(gzip.compress(BODY)), []),
        ("gzip", gzip.compress(gzip.compress(BODY)), []),
        ("", gzip.compress(BODY), []),
        ("gzip", BODY, ["wrong_coding"]),
        ("br", gzip.compress(BODY), ["wrong_coding"]),
        ("gzip", gzip.compress(BODY) + b"<!-- cached -->", []),
    ],
)
def test_codings_are_undone_however_they_are_labelled(coding: str, body: bytes, flags: list[str]) -> None:
    """First bytes decide where the label lies; trailing bytes are ignored (scrapy#951, wpull#484)."""
    document = cleaned(body, f"Content-Type: {HTML}", f"Content-Encoding: {coding}").document
    assert (document.title, document.links, document.flags) == ("T", ["http://h.test/x"], flags)


def test_a_cut_stream_is_kept_and_marked() -> None:
    """What can be decoded is a document, with a flag."""
    body = gzip.compress(b"<title>T</title>" + bytes(range(32, 127)) * 300, 1)
    document = cleaned(body[: len(body) - 20], f"Content-Type: {HTML}", "Content-Encoding: gzip").document
    assert document.title == "T"
    assert document.flags == ["cut_coding"]


def test_a_bomb_stops_at_the_cap() -> None:
    """A body that inflates for ever is cut and marked, and its document fits into a record."""
    document = cleaned(gzip.compress(b"a" * 50_000_000), f"Content-Type: {HTML}", "Content-Encoding: gzip").document
    assert "too_large" in document.flags
    assert document.body_bytes <= 10 * 2**20
    assert len(encode(document)) < 11 * 2**20


@pytest.mark.parametrize(
    ("body", "header", "text"),
    [
        (b"<p>\x93q\x94", "text/html; charset=iso-8859-1", "\u201cq\u201d"),
        (b"<p>+ADw-b+AD4-", "text/html; charset=utf-7", "+ADw-b+AD4-"),
        ("<p>\u00e4\u00f6".encode(), "text/html; charset=rot13", "\u00e4\u00f6"),
        (b"<meta charset=gb2312><p>" + "\u7f51\u7ad9".encode("gbk"), "text/html", "\u7f51\u7ad9"),
        (b"\xef\xbb\xbf<p>\xc3\xa4", "text/html; charset=latin1", "\u00e4"),
        ("\ufeff<p>\u00e4".encode("utf-16-le"), "text/html", "\u00e4"),
        ("<p>\u00e4".encode() + b"\xc3", "text/html", "\u00e4"),
    ],
)
def test_characters_are_read_as_a_browser_reads_them(body: bytes, header: str, text: str) -> None:
    """Byte order mark, header, meta, the bytes themselves; labels by the Encoding Standard."""
    assert cleaned(body, f"Content-Type: {header}").document.text.startswith(text)


def test_a_misspelt_meta_is_still_a_hint() -> None:
    """A charset where the standard does not look is believed when the bytes agree (w3lib#155)."""
    body = b'<meta httpequiv="ContentType" content="text/html; charset=gbk"><title>\xcd\xf8\xd5\xbe</title>'
    assert cleaned(body).document.title == "\u7f51\u7ad9"


def test_nul_does_not_cut_the_page() -> None:
    """NUL is removed and the rest is kept (parsel#123)."""
    document = cleaned(b'<p>one</p>\0<p>two</p><a href="/x\0y">l</a>').document
    assert document.text.split()[:2] == ["one", "two"]
    assert document.links == ["http://h.test/xy"]


def test_deep_text_is_not_lost() -> None:
    """Text at a depth where lxml loses it is kept (parsel#110)."""
    assert "TEXT" in cleaned(b"<div>" * 260 + b"TEXT").document.text
    assert "TEXT" in cleaned(b"<div>" * 20_000 + b"TEXT").document.text


@pytest.mark.parametrize(
    "body",
    [
        b'<table><tr><td colspan="9007199254740991">a</td></table>',
        b'<!DOCTYPE HTML PUBLIC "-//W3C//DTD" 2012"x"><html><body><p>a</p>',
        b"<p>a&#xD83D;</p>",
    ],
)
def test_broken_markup_gives_its_text(body: bytes) -> None:
    """Absurd numbers, doctypes and character references cost nothing of the text."""
    document = cleaned(body).document
    assert document.text.startswith("a")
    encode(document)


def test_images_under_a_text_path_give_no_links() -> None:
    """By type or by first bytes: nothing is mined from binary data (katana#1768)."""
    body = b"\x89PNG\r\n\x1a\n <a href=./6>"
    for kind in ("image/png", "text/html", "text/plain"):
        document = cleaned(body, f"Content-Type: {kind}").document
        assert (document.links, document.text, document.flags) == ([], "", ["unsupported_type"])


def test_plain_text_and_json_are_taken_as_they_are() -> None:
    """Text for people or programs is the document's text."""
    assert cleaned(b"a <b>\nc", "Content-Type: text/plain").document.text == "a <b>\nc"
    assert cleaned(b'{"a":1}', "Content-Type: application/ld+json").document.text == '{"a":1}'
    assert cleaned(b"PK\x03\x04", "Content-Type: application/zip").document.flags == ["unsupported_type"]


@pytest.mark.parametrize(
    ("headers", "meta", "followed"),
    [
        (["X-Robots-Tag: otherbot: noindex", "X-Robots-Tag: nofollow"], "", False),
        (["X-Robots-Tag: otherbot: nofollow"], "", True),
        (["X-Robots-Tag: Odradek: NONE"], "", False),
        (["X-Robots-Tag: unavailable_after: 25 Jun 2030 15:00:00 PST, nofollow"], "", False),
        ([], "<meta name=Robots content='NOINDEX,NoFollow'>", False),
        ([], "<meta name=odradek content=none>", False),
        ([], "<meta name=otherbot content=none>", True),
        ([], "<meta name=robots content=noindex>", True),
    ],
)
def test_a_page_says_whether_its_links_are_followed(headers: list[str], meta: str, followed: bool) -> None:
    """Directives for everybody and for us count, in header and meta; links are recorded all the same."""
    body = f"{meta}<a href=/x>l</a>".encode()
    result = cleaned(body, f"Content-Type: {HTML}", *headers)
    assert [url.path for url in result.follow] == (["/x"] if followed else [])
    assert result.document.links == ["http://h.test/x"]
    assert cleaned(body, f"Content-Type: {HTML}", *headers, obey=False).follow != []


def test_nofollow_of_one_link_is_of_that_link() -> None:
    """A URL that one link of the page lets follow is followed."""
    result = cleaned(b'<a href=/a rel="x NoFollow">1</a><a href=/b rel=nofollow>2</a><a href=/b>3</a>')
    assert [url.path for url in result.follow] == ["/b"]
    assert len(result.document.links) == 2


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        (" #top", URL),
        ("\n?r=2", "http://h.test/dir/page?r=2"),
        ("", URL),
        ("x", "http://h.test/dir/x"),
        ("http:y", "http://h.test/dir/y"),
        ("http:?z", "http://h.test/dir/page?z"),
        ("../../../up", "http://h.test/up"),
        ("\n http://o.test/a_0.shtml \n", "http://o.test/a_0.shtml"),
        ("//o.test", "http://o.test/"),
        ("http://u:secret@o.test/", "http://o.test/"),
        ("mailto:a@b.test", None),
        ("javascript:void(0)", None),
        ("http://", None),
        ("http://xn--/", None),
    ],
)
def test_a_reference_resolves_as_in_a_browser(href: str, expected: str | None) -> None:
    """Also where only the directory of the page is used for resolving."""
    document = cleaned(f'<a href="{href}">l</a>'.encode()).document
    assert document.links == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("http://b.test/d/", "http://b.test/d/x"),
        ("/e/f#a/b", "http://h.test/e/x"),
        ("data:text/plain,a", "http://h.test/dir/x"),
        ("http://[", "http://h.test/dir/x"),
    ],
)
def test_the_first_base_element_counts(base: str, expected: str) -> None:
    """A base that is of no use falls back to the page's own URL, and no later one replaces it."""
    body = f'<base href="{base}"><base href="http://later.test/"><a href=x>l</a>'.encode()
    assert cleaned(body).document.links == [expected]


def test_a_drawing_does_not_give_the_title() -> None:
    """The title of an SVG is not the page's, and white space in a title is collapsed."""
    assert cleaned(b"<svg><g><title>s</title></g></svg><title>\n a &amp; b\t</title>").document.title == "a & b"


def test_an_independent_parser_finds_the_same() -> None:
    """Title and links of a page are what lxml finds."""
    body = (
        "<!doctype html><html><head><title> A  page </title></head><body>"
        + "".join(f'<p>{n} <a href="../n{n}.html?a=1&amp;b={n}#f">{n}</a> <area href=/m{n % 3}>' for n in range(40))
        + "</body></html>"
    )
    document = cleaned(body.encode()).document
    tree = lxml_html.document_fromstring(body, base_url=URL)
    tree.make_links_absolute(URL)
    wanted = dict.fromkeys(link.partition("#")[0] for link in tree.xpath("//a/@href | //area/@href"))
    assert document.links == list(wanted)
    assert document.title == " ".join(tree.findtext(".//title").split())


def test_text_beyond_a_record_is_cut_and_marked() -> None:
    """Ten megabytes that become twenty as UTF-8 still make a document that Kafka takes."""
    document = cleaned(b"\xe9 " * (5 * 2**20), "Content-Type: text/plain; charset=latin1").document
    assert "text_cut" in document.flags
    assert len(document.text.encode()) <= MAX_TEXT_BYTES
    assert len(encode(document)) < 11 * 2**20
