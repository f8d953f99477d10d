"""The cleaner takes anything: no bytes make it raise, and what it gives is bounded and can be written."""

import zlib
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from infra.errors import NeverValid
from schemas.codings import undo
from schemas.records import Page
from schemas.url import canonicalize, url_id
from schemas.wire import decode, encode
from streams import charset, media, seeds
from streams.clean import clean
from streams.markup import Link
from streams.outlinks import resolve

NOW = datetime(2026, 12, 1, tzinfo=UTC)
FRAGMENTS = st.sampled_from(
    [
        *(b"<p>", b"</p>", b"<a href='", b"'>", b'"', b"<a href=", b" ", b">", b"<", b"</", b"<!--", b"-->"),
        *(b"<script>", b"</script>", b"<title>", b"</title>", b"<base href=", b"<meta charset=", b"gbk", b"utf-16"),
        *(b"<svg>", b"<template>", b"<select><option>", b"&#xD800;", b"\xed\xa0\x80", b"\xff", b"\xef\xbb\xbf"),
        *(
            b"<meta property=og:image content='",
            b"<meta http-equiv=refresh content='0;url=",
            b"<link rel=canonical href=",
        ),
        *(b"<script type=application/ld+json>", b'{"@type":"Article","author":', b'{"datePublished":"2024-01-02', b"}"),
        *(
            b"<h1>",
            b"<pre>",
            b"<table><tr><td>",
            b"<td>",
            b"<div class=ad>",
            b"<form>",
            b"<ul><li>",
            b"<frameset><frame src=",
        ),
        *(
            b"<time pubdate datetime=",
            b"<img srcset='a 1x,",
            b"<html lang=",
            b"<br>",
            b"<br>x<br>",
            b"<button>",
            b"<area href=",
        ),
        *(b"<meta name=robots content=nofollow>", b"<b>", b"<plaintext>", b"<![CDATA[", b"\xc3\xa4", b"text ", b"\0"),
    ]
)
BODIES = st.one_of(st.binary(max_size=2_000), st.lists(FRAGMENTS, max_size=60).map(b"".join))
TYPES = st.one_of(
    st.none(), st.sampled_from(["text/html", "text/html; charset=gbk", "text/plain", "text/xml"]), st.text()
)
CODINGS = st.lists(st.sampled_from(["gzip", "x-gzip", "deflate", "br", "zstd", "identity", "nonsense"]), max_size=3)


def page(head: bytes, body: bytes) -> Page:
    """A page with this head and body."""
    url = "http://h.test/dir/page"
    return Page(
        fetch_id="f", crawl="c", url=url, url_id=url_id(url), host="h.test", visit=0, depth=0, hops=0, parent=None,
        fetched_at=NOW, status=200, head=head, body=body, cut=None,
    )  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(body=BODIES, kind=TYPES, codings=CODINGS)
def test_any_page_becomes_a_document(body: bytes, kind: str | None, codings: list[str]) -> None:
    """No exception; the document survives its own contract; its links are canonical and each once."""
    lines = [f"Content-Encoding: {', '.join(codings)}"] + ([f"Content-Type: {kind}"] if kind is not None else [])
    head = "HTTP/1.1 200 OK\r\n" + "".join(f"{line}\r\n" for line in lines)
    cleaned = clean(page(head.encode("utf-8", "replace"), body), "odradek", obey=True, now=NOW)
    document = cleaned.document
    assert decode(type(document), encode(document)) == document
    assert len(set(document.links)) == len(document.links)
    assert all(canonicalize(link).href == link for link in document.links)
    assert {url.href for url in cleaned.follow} <= {*document.links, document.canonical}
    assert "\0" not in document.text + (document.title or "")


@settings(max_examples=200, deadline=None)
@given(body=st.binary(max_size=3_000), label=st.one_of(st.none(), st.text(max_size=20)))
def test_any_bytes_are_text(body: bytes, label: str | None) -> None:
    """No exception, no lone surrogate, no NUL, whatever the label."""
    text, name = charset.decode(body, label, html=True)
    text.encode("utf-8")
    assert "\0" not in text
    assert charset.known(name) == name


@settings(max_examples=200, deadline=None)
@given(body=st.binary(max_size=2_000), codings=CODINGS, limit=st.integers(1, 3_000))
def test_decoding_is_bounded(body: bytes, codings: list[str], limit: int) -> None:
    """However often a body is coded, no more comes out than the limit."""
    for coded in (body, zlib.compress(body), zlib.compress(b"a" * 10_000 + body)):
        assert len(undo(coded, codings, limit).body) <= limit


@settings(max_examples=200, deadline=None)
@given(value=st.one_of(st.none(), st.binary(max_size=200), st.text(max_size=100).map(str.encode)))
def test_any_value_is_a_seed_or_says_why_not(value: bytes | None) -> None:
    """Seeds raise one kind of exception only."""
    try:
        url = seeds.to_url(seeds.read(value))
    except NeverValid:
        return
    assert canonicalize(url.href) == url


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=100))
def test_any_text_is_a_media_type_or_none(text: str) -> None:
    """No exception, and the essence is in lower case."""
    found = media.parse(text)
    assert found is None or found.essence == found.essence.lower()


@settings(max_examples=300, deadline=None)
@given(href=st.text(alphabet=st.sampled_from(" \t\n#?/.:;abhHtTpP%@\\&=-[]"), max_size=25))
def test_the_short_cut_of_resolving_changes_nothing(href: str) -> None:
    """Relative to the directory of the base a reference resolves as relative to the base."""
    base = "http://h.test/a/b?q#f"
    found = resolve(base, [Link(href, nofollow=False)]).urls
    try:
        expected = [canonicalize(href, base)]
    except ValueError:
        expected = []
    assert found == expected
