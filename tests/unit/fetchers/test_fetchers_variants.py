"""Variants of what is known to go wrong on the web: each through the real fetcher, from a raw socket."""

import asyncio
import contextlib
import gzip
import json
import zlib
from datetime import timedelta

import brotli
import pytest

from fetchers.attempt import Attempt
from fetchers.heads import Head
from fetchers.resolver import Addresses
from schemas.codings import declared, undo
from schemas.outcomes import Outcome
from schemas.records import Cut
from schemas.url import InvalidUrl, canonicalize
from tests.unit.fetchers.raw_web import canonical, fetch_once, fetching, request, run, sending, serving, settings

TEXT = b"<html><head><title>T</title></head><body><p>hello body</p></body></html>"
OK = b"HTTP/1.1 200 OK\r\n"
HTML = OK + b"Content-Type: text/html\r\n"
GZIP = gzip.compress(TEXT)
BROTLI = brotli.compress(TEXT)
_RAW = zlib.compressobj(9, zlib.DEFLATED, -15)
RAW_DEFLATE = _RAW.compress(TEXT) + _RAW.flush()


def whole(body: bytes, coding: bytes = b"", kind: bytes = b"text/html", status: bytes = b"200 OK") -> bytes:
    """An answer with its right length."""
    coded = b"Content-Encoding: " + coding + b"\r\n" if coding else b""
    typed = b"Content-Type: " + kind + b"\r\n" if kind else b""
    return b"HTTP/1.1 " + status + b"\r\n" + typed + coded + b"Content-Length: %d\r\n\r\n" % len(body) + body


def chunked(coding: bytes, body: bytes = TEXT) -> bytes:
    """An answer in one chunk, its transfer coding spelt so."""
    return HTML + b"Transfer-Encoding: " + coding + b"\r\n\r\n%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"


def readable(attempt: Attempt) -> bytes:
    """What a cleaner makes of the body."""
    head = Head(attempt.head.removesuffix(b"\r\n"))
    return undo(attempt.body, declared(head.texts(b"content-encoding")), 10**7).body


READ = {
    "deflate": whole(zlib.compress(TEXT), b"deflate"),
    "raw deflate": whole(RAW_DEFLATE, b"deflate"),
    "gzip in members": whole(gzip.compress(TEXT[:20]) + gzip.compress(TEXT[20:]), b"gzip"),
    "zeros behind gzip": whole(GZIP + bytes(512), b"gzip"),
    "text behind gzip": whole(GZIP + b"<!-- cached -->", b"gzip"),
    "gzip that nobody declares": whole(GZIP),
    "gzip declared twice, applied once": whole(GZIP, b"gzip, gzip"),
    "gzip declared twice, applied twice": whole(gzip.compress(GZIP), b"gzip, gzip"),
    "gzip declared in two lines": whole(GZIP, b"gzip\r\nContent-Encoding: gzip"),
    "gzip over br": whole(gzip.compress(BROTLI), b"br, gzip"),
    "gzip as deflate": whole(GZIP, b"deflate"),
    "br declared, plain": whole(TEXT, b"br"),
    "zstd declared, plain": whole(TEXT, b"zstd"),
    "gzip declared, plain": whole(TEXT, b"gzip"),
    "codings that are none": whole(TEXT, b"none, identity, , UTF-8"),
    "a coding of another protocol": whole(TEXT, b"aws-chunked"),
    "gzip in the transfer": chunked(b"gzip, chunked", GZIP),
    "chunked in two lines": chunked(b"chunked\r\nTransfer-Encoding: chunked"),
    "chunked and identity": chunked(b"chunked, identity"),
    "chunked in HTTP/1.0": chunked(b"chunked").replace(b"HTTP/1.1", b"HTTP/1.0"),
    "capital chunk sizes": chunked(b"chunked").replace(b"\r\n48\r\n", b"\r\n0048 \r\n"),
    "a length with an empty neighbour": HTML + b"Content-Length: 72,\r\n\r\n" + TEXT,
    "a mark before the status": b"\xef\xbb\xbf" + whole(TEXT),
    "tabs in the status line": whole(TEXT).replace(b"HTTP/1.1 200 OK", b"HTTP/1.1\t200\tOK"),
    "a folded type": whole(TEXT, kind=b"text/html;\r\n charset=utf-8"),
    "a type in capitals": whole(TEXT, kind=b"TEXT/HTML"),
    "a type that is none": whole(TEXT, kind=b"html"),
    "a type of anything": whole(TEXT, kind=b"*/*"),
    "a type that says unknown": whole(TEXT, kind=b"unknown/unknown"),
    "likewise": whole(TEXT, kind=b"application/unknown"),
    "no type": whole(TEXT, kind=b""),
    "a suffix of XML": whole(TEXT, kind=b"application/vnd.wap.xhtml+xml"),
    "203": whole(TEXT, status=b"203 x"),
    "299": whole(TEXT, status=b"299 x"),
    "only line feeds": b"HTTP/1.1 200 OK\n\n" + TEXT,
    "a refresh in the header": HTML + b"Refresh: 0;url=/x\r\nContent-Length: 72\r\n\r\n" + TEXT,
}


@pytest.mark.parametrize("response", READ.values(), ids=READ.keys())
def test_whatever_a_browser_shows_is_a_page(response: bytes) -> None:
    """Its text is there for the cleaners, nothing of it is cut, and its record passes any serialiser."""
    attempt = fetch_once(sending(response))
    assert (attempt.outcome, attempt.cut, attempt.error) == (Outcome.OK, None, None)
    assert b"hello body" in readable(attempt)
    page, fetch = attempt.records(request("http://h.test/"), "w")
    assert page is not None
    json.dumps(fetch.model_dump(mode="json", exclude={"url_id"}), ensure_ascii=False).encode()


REFUSED = {
    "a length with a blank": (HTML + b"Content-Length: 7 2\r\n\r\n" + TEXT, Outcome.PROTOCOL_ERROR),
    "a length with a fraction": (HTML + b"Content-Length: 72.0\r\n\r\n" + TEXT, Outcome.PROTOCOL_ERROR),
    "a length with a unit": (HTML + b"Content-Length: 72 bytes\r\n\r\n" + TEXT, Outcome.PROTOCOL_ERROR),
    "a length in other digits": (HTML + b"Content-Length: \xd9\xa7\r\n\r\n" + TEXT, Outcome.PROTOCOL_ERROR),
    "two of three lengths": (
        HTML + b"Content-Length: 72\r\nContent-Length: 72\r\nContent-Length: 70\r\n\r\n" + TEXT,
        Outcome.PROTOCOL_ERROR,
    ),
    "a chunk without its line end": (
        HTML + b"Transfer-Encoding: chunked\r\n\r\n48\r\n" + TEXT + b"0\r\n\r\n",
        Outcome.PROTOCOL_ERROR,
    ),
    "a status of class 6": (whole(TEXT, status=b"600 x"), Outcome.PROTOCOL_ERROR),
    "999": (whole(TEXT, status=b"999 Request denied"), Outcome.PROTOCOL_ERROR),
    "another protocol from here on": (
        b"HTTP/1.1 101 x\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n" + TEXT,
        Outcome.PROTOCOL_ERROR,
    ),
    "HTTP/2": (b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64", Outcome.PROTOCOL_ERROR),
    "Redis": (b"-ERR unknown command 'GET'\r\n", Outcome.PROTOCOL_ERROR),
    "mail": (b"220 mail.test ESMTP\r\n500 what\r\n", Outcome.PROTOCOL_ERROR),
    "only carriage returns": (b"HTTP/1.1 200 OK\rContent-Type: text/html\r\r" + TEXT, Outcome.DISCONNECT),
    "an image": (whole(b"\x89PNG\r\n\x1a\n./6", kind=b"image/png"), Outcome.SKIPPED),
    "an image that declares nothing": (whole(b"\x89PNG\r\n\x1a\n./6", kind=b""), Outcome.SKIPPED),
    "a download": (whole(TEXT, kind=b"application/octet-stream"), Outcome.SKIPPED),
    "421": (whole(TEXT, status=b"421 x"), Outcome.CLIENT_ERROR),
    "451": (whole(TEXT, status=b"451 x"), Outcome.CLIENT_ERROR),
    "an answer for a proxy": (whole(TEXT, status=b"407 x"), Outcome.CLIENT_ERROR),
    "507": (whole(TEXT, status=b"507 x"), Outcome.SERVER_ERROR),
}


@pytest.mark.parametrize(("response", "outcome"), REFUSED.values(), ids=REFUSED.keys())
def test_whatever_a_browser_refuses_is_no_page(response: bytes, outcome: Outcome) -> None:
    """It ends as exactly one outcome, by what it is."""
    attempt = fetch_once(sending(response))
    assert (attempt.outcome, attempt.body) == (outcome, b"")
    assert attempt.records(request("http://h.test/"), "w")[0] is None


@pytest.mark.parametrize(
    ("response", "cut"),
    [
        (HTML + b"Content-Length: 99999999999\r\n\r\n" + TEXT, Cut.DISCONNECT),
        (HTML + b"Transfer-Encoding: chunked\r\n\r\n48\r\n" + TEXT, Cut.DISCONNECT),
        (whole(TEXT, status=b"206 x", kind=b"text/html\r\nContent-Range: bytes 0-71/9000"), Cut.LENGTH),
        (whole(TEXT, status=b"206 x", kind=b"text/html\r\nContent-Range: bytes 8-79/80"), Cut.LENGTH),
        (whole(TEXT, status=b"206 x", kind=b"text/html\r\nContent-Range: bytes 0-71/*"), Cut.LENGTH),
        (whole(TEXT, status=b"206 x"), Cut.LENGTH),
        (whole(TEXT, status=b"206 x", kind=b"text/html\r\nContent-Range: bytes 0-71/72"), None),
        (HTML + b"Content-Length: 72\r\n\r\n" + TEXT, None),
    ],
)
def test_a_part_is_never_told_as_the_whole(response: bytes, cut: Cut | None) -> None:
    """What is there is kept, and marked: also a part that nobody asked for."""
    attempt = fetch_once(sending(response))
    assert (attempt.outcome, attempt.cut) == (Outcome.OK, cut)
    assert b"hello body" in attempt.body


LOCATIONS = {
    b"//other.test/x": "http://other.test/x",
    b"?q=1": "http://h.raw.test{port}/d/?q=1",
    b"#there": "http://h.raw.test{port}/d/",
    b"\\\\other.test\\x": "http://other.test/x",
    b"http:/x": "http://h.raw.test{port}/x",
    b"https:other.test": "https://other.test/",
    b"HTTP://OTHER.TEST:80/": "http://other.test/",
    b"http://u:p@other.test/": "http://other.test/",
    b"/caf\xe9": "http://h.raw.test{port}/caf%E9",
    b"/caf\xc3\xa9?x=\xe9": "http://h.raw.test{port}/caf%C3%A9?x=%E9",
    b" \t/a b\t": "http://h.raw.test{port}/a%20b",
    b"/../../x": "http://h.raw.test{port}/x",
    b"http://0x7f.1/": "http://127.0.0.1/",
    b"": None,
    b"javascript:alert(1)": None,
    b"data:text/html,x": None,
    b"FILE:///etc/passwd": None,
    b"about:blank": None,
    b"http://": None,
    b"http://other.test:0/": None,
    b"http://other.test:99999/": None,
    b"http://a..b/": None,
    b"http://\xff.test/": None,
    b"/" + b"a" * 9_000: None,
    b"http://a.test/\r\nLocation: http://b.test/": None,
}


@pytest.mark.parametrize(("location", "target"), LOCATIONS.items(), ids=lambda value: str(value)[:30])
def test_a_redirect_leads_where_a_browser_would_go_or_nowhere(location: bytes, target: str | None) -> None:
    """As bytes that came, whatever their charset; never to another scheme, never to two places."""
    response = b"HTTP/1.1 302 x\r\nLocation: " + location + b"\r\nContent-Length: 0\r\n\r\n"

    async def scenario() -> tuple[Attempt, int]:
        async with serving(sending(response)) as port, fetching(settings()) as fetcher:
            return await fetcher.fetch(request(f"http://h.raw.test:{port}/d/")), port

    attempt, port = run(scenario())
    expected = None if target is None else target.replace("{port}", f":{port}")
    assert attempt.outcome is (Outcome.BAD_REDIRECT if expected is None else Outcome.REDIRECT)
    assert attempt.redirect_to == expected


SPELLINGS = [
    "http://127.1/", "http://2130706433/", "http://017700000001/", "http://0x7f.0.0.1/", "http://0x7f000001/",
    "http://127.0.0.1./", "http://127.000.000.001/", "http://\u2460\u2461\u2466.\u24ea.\u24ea.\u2460/", "http://\uff11\uff12\uff17\u3002\uff10\u3002\uff10\u3002\uff11/",
    "http://[::1]/", "http://[::]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[::127.0.0.1]/",
    "http://[64:ff9b::127.0.0.1]/", "http://[64:ff9b:1::a00:1]/", "http://[2002:7f00:1::]/", "http://[2002:a9fe:a9fe::]/",
    "http://[2001:0:0:0:0:0:f5ff:fffe]/", "http://[fe80::1]/", "http://[fec0::1]/", "http://[fd00:ec2::254]/",
    "http://[ff02::1]/", "http://[::ffff:0:127.0.0.1]/", "http://[100::1]/", "http://[2001:db8::1]/", "http://[5f00::1]/",
    "http://0/", "http://0.0.0.0/", "http://10.255.255.255/", "http://100.64.0.1/", "http://169.254.169.254/",
    "http://172.31.255.255/", "http://192.0.0.192/", "http://192.168.0.1/", "http://198.19.255.255/", "http://224.0.0.1/",
    "http://255.255.255.255/", "http://168.63.129.16/", "http://100.100.100.200/", "http://localhost/",
    "http://sub.localhost/", "http://inside.example/",
]  # fmt: skip


@pytest.mark.parametrize("url", SPELLINGS)
def test_no_spelling_of_an_address_inside_is_dialled(url: str) -> None:
    """Whatever it looks like: it is no URL, or blocked where it would be dialled; nothing is ever connected to."""
    try:
        canonicalize(url)
    except InvalidUrl:
        return

    async def inside(_name: str) -> Addresses:
        return Addresses(("127.0.0.1", "::1", "::ffff:10.0.0.1"), timedelta(seconds=9))

    async def scenario() -> Attempt:
        async with fetching(settings(allow_networks=(), resolve={}), inside) as fetcher:
            return await fetcher.fetch(canonical(url))

    attempt = run(scenario())
    assert (attempt.outcome, attempt.remote_address) == (Outcome.BLOCKED_ADDRESS, None)


def test_a_large_body_is_whole_though_its_server_goes_early() -> None:
    """It half-closes as soon as it has written; the reader is slow: every byte is there."""
    body = b"<p>" + b"x" * 9_000_000

    async def handle(_head: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HTML + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        with contextlib.suppress(ConnectionError):
            await writer.drain()
        writer.write_eof()

    attempt = fetch_once(handle)
    assert (attempt.outcome, attempt.cut, len(attempt.body)) == (Outcome.OK, None, len(body))


def test_a_bomb_stays_what_it_weighs() -> None:
    """Nothing is decoded on the way: a megabyte that would be a gigabyte is a megabyte."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(packer.compress(bytes(2**20)) for _ in range(1_000)) + packer.flush()
    attempt = fetch_once(sending(whole(bomb, b"gzip")))
    assert (attempt.outcome, attempt.body) == (Outcome.OK, bomb)
