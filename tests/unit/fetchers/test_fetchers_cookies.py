"""Cookies: off unless wanted; then for their own crawl and site alone."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fetchers.cookies import CookieJar, parse_cookie
from fetchers.headers import RequestHeaders
from fetchers.heads import Head
from infra.settings import FetcherSettings, Settings
from infra.settings.headers import HeaderSettings
from schemas.url import canonicalize
from tests.unit.fetchers.raw_web import fetching, request, run, serving, settings

NOW_S = 1_000_000.0


def sent(set_by: str, line: str, asked: str, crawl: str = "c", now_s: float = NOW_S) -> str:
    """What is sent to ``asked`` after ``set_by`` answered with such a line."""
    jar = CookieJar(10, 10)
    jar.take("c", canonicalize(set_by), [line.encode("latin-1")], NOW_S)
    return jar.header(crawl, canonicalize(asked), now_s)


@pytest.mark.parametrize(
    ("set_by", "line", "asked", "cookie"),
    [
        ("http://h.test:4443/", "s=1", "http://h.test:4443/x", "s=1"),
        ("http://h.test:4443/", "s=1", "http://h.test/", "s=1"),
        ("http://a.h.test/", "s=1", "http://h.test/", ""),
        ("http://a.h.test/", "s=1", "http://b.a.h.test/", ""),
        ("http://a.h.test/", "s=1; Domain=h.test", "http://b.h.test/", "s=1"),
        ("http://a.h.test/", "s=1; domain=.H.TEST", "http://h.test/", "s=1"),
        ("http://h.test/", "s=1; Domain=example.com", "http://example.com/", ""),
        ("http://h.test/", "s=1; Domain=example.com", "http://h.test/", ""),
        ("http://a.co.uk/", "s=1; Domain=co.uk", "http://b.co.uk/", ""),
        ("http://a.test/", "s=1; Domain=test", "http://b.test/", ""),
        ("http://ah.test/", "s=1; Domain=h.test", "http://h.test/", ""),
        ("http://127.0.0.1/", "s=1; Domain=0.0.1", "http://127.0.0.1/", ""),
        ("http://h.test/a/b", "s=1", "http://h.test/a/c", "s=1"),
        ("http://h.test/a/b", "s=1", "http://h.test/ab", ""),
        ("http://h.test/", "s=1; Path=/x", "http://h.test/x/y?z", "s=1"),
        ("http://h.test/", "s=1; Path=/x", "http://h.test/xy", ""),
        ("http://h.test/", "s=1; Path=x", "http://h.test/y", "s=1"),
        ("https://h.test/", "s=1; Secure", "https://h.test/", "s=1"),
        ("https://h.test/", "s=1; Secure", "http://h.test/", ""),
        ("http://h.test/", "s=1; Secure", "https://h.test/", ""),
        ("http://h.test/", "__Secure-s=1", "http://h.test/", ""),
        ("https://h.test/", "__Host-s=1; Secure; Path=/; Domain=h.test", "https://h.test/", ""),
        ("https://h.test/", "__Host-s=1; Secure; Path=/", "https://h.test/", "__Host-s=1"),
        ("http://h.test/", "s=1; Max-Age=0", "http://h.test/", ""),
        ("http://h.test/", "s=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "http://h.test/", "s=1"),
        ("http://h.test/", "s=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "http://h.test/", ""),
        ("http://h.test/", "s=1; Expires=never", "http://h.test/", "s=1"),
        ("http://h.test/", "s", "http://h.test/", ""),
        ("http://h.test/", "=1", "http://h.test/", ""),
        ("http://h.test/", "a b=c", "http://h.test/", "a b=c"),
        ("http://h.test/", "\x80=\xff; expires=never", "http://h.test/", ""),
        ("http://h.test/", "s=1\x00", "http://h.test/", ""),
        ("http://h.test/", "s=" + "x" * 5_000, "http://h.test/", ""),
    ],
)
def test_a_cookie_goes_where_it_belongs(set_by: str, line: str, asked: str, cookie: str) -> None:
    """By host, domain, path, scheme and time; ports do not count; nobody sets one for a suffix or for others."""
    assert sent(set_by, line, asked) == cookie


def test_crawls_share_no_cookies_and_time_ends_them() -> None:
    """What one crawl was given another never shows."""
    assert sent("http://h.test/", "s=1", "http://h.test/", crawl="other") == ""
    assert sent("http://h.test/", "s=1; Max-Age=60", "http://h.test/", now_s=NOW_S + 59) == "s=1"
    assert sent("http://h.test/", "s=1; Max-Age=60", "http://h.test/", now_s=NOW_S + 60) == ""


def test_a_jar_is_bounded() -> None:
    """The oldest cookie of a site, the site used longest ago."""
    jar = CookieJar(2, 2)
    for host in ("a.test", "b.test", "c.test"):
        url = canonicalize(f"http://{host}/")
        jar.take("c", url, [b"x=1", b"y=2", b"x=3", b"z=4"], NOW_S)
    assert jar.header("c", canonicalize("http://a.test/"), NOW_S) == ""
    assert jar.header("c", canonicalize("http://c.test/"), NOW_S) == "x=3; z=4"


@given(st.binary(max_size=200))
def test_any_bytes_are_a_cookie_or_none(line: bytes) -> None:
    """And what is sent back is one line."""
    cookie = parse_cookie(line, canonicalize("https://h.test/x"), NOW_S)
    assert cookie is None or f"{cookie.name}={cookie.value}".replace("\t", " ").isprintable()


def test_cookies_are_sent_back_only_where_wanted() -> None:
    """Through the real fetcher, another host's dropped."""
    heads: list[bytes] = []

    async def handle(head: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(head)
        writer.write(b"HTTP/1.1 302 x\r\nLocation: /y\r\nSet-Cookie: s=1\r\nSet-Cookie: t=2; Domain=o.test\r\n\r\n")

    async def scenario(**wanted: Any) -> bytes:
        configured = settings(headers=HeaderSettings(**wanted))
        async with serving(handle) as port, fetching(configured) as fetcher:
            for path in ("x", "y"):
                await fetcher.fetch(request(f"http://a.raw.test:{port}/{path}"))
        return heads[-1]

    assert b"\r\nCookie: s=1\r\n" in run(scenario(cookies=True))
    assert b"Cookie" not in run(scenario())


def test_a_request_has_one_cookie_field() -> None:
    """Where a rule says what a host gets, what was kept of its answers is not sent beside it."""
    rules = {"a.test": {"Cookie": "rule=1"}}
    headers = RequestHeaders(Settings(fetchers=FetcherSettings(headers=HeaderSettings(cookies=True, hosts=rules))))
    answer = Head(b"HTTP/1.1 200 OK\r\nSet-Cookie: kept=1")
    sent = {}
    for name in ("a.test", "b.test"):
        url = canonicalize(f"http://{name}/")
        headers.hear(url, request(url.href), answer)
        sent[name] = headers.of(url, request(url.href)).raw.decode()
    assert [line for line in sent["a.test"].splitlines() if line.startswith("Cookie")] == ["Cookie: rule=1"]
    assert [line for line in sent["b.test"].splitlines() if line.startswith("Cookie")] == ["Cookie: kept=1"]
