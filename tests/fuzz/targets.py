"""What a fuzzer looks for: a target takes any bytes, and raises only where something promised does not hold."""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from infra.errors import NeverValid, UserError
from schemas.codings import undo
from schemas.records import Document, Page
from schemas.url import canonicalize, url_id
from schemas.wire import Undecodable, decode, encode
from streams import charset, hostility, markup, scan, seeds
from streams.clean import finish
from streams.opened import Way, open_page
from streams.outlinks import MAX_LINKS, resolve
from streams.rules.compiled import Rules
from streams.rules.reading import read
from streams.sites import Sites

URL = "http://h.test/dir/page?q#f"
NOW = datetime(2026, 12, 1, tzinfo=UTC)
LIMIT_BYTES = 2**20
_CODINGS = ("gzip", "x-gzip", "deflate", "br", "zstd", "identity", "nonsense", "")
_TYPES = (
    "text/html",
    "text/html; charset=gbk",
    "text/html; charset=utf-16le",
    "text/plain",
    "text/xml",
    "",
    "*/*",
    "x",
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_RULES = """
[a]
hosts = ["*.test"]
[a.fields]
title = { css = "h1, b" }
price = { css = "*", type = "number", many = true, decimal_mark = "," }
all = { xpath = "//text() | //@*", many = true, type = "lines" }
day = { css = "time, p", attribute = "datetime", type = "date" }
link = { css = "a", attribute = "href", type = "url", required = true }
"""
_SITES = Sites(Rules(read({"": _RULES})))


def fuzz_decode(data: bytes) -> None:
    """Content codings and charsets: bounded, and nothing that could not be written."""
    first, second, body = data[:1], data[1:2], data[2:]
    labels = [_CODINGS[each[0] % len(_CODINGS)] for each in (first, second) if each]
    decoded = undo(body, labels, LIMIT_BYTES)
    assert len(decoded.body) <= LIMIT_BYTES
    for html in (True, False):
        for label in (None, "utf-8", data[:12].decode("latin-1")):
            text = charset.decode(decoded.body[:65_536], label, html=html).text
            assert not _SURROGATE.search(text)


def fuzz_links(data: bytes) -> None:
    """Links of a page, parsed and by patterns: canonical, each once, bounded."""
    html = charset.decode(data, None, html=True).text
    found = [scan.scan(html, URL)[0]]
    if hostility.judge(html) is not hostility.Effort.HOSTILE:
        found.append(markup.read(markup.parse(html), URL, "odradek"))
    for page in found:
        resolved = resolve(page.base, page.links)
        hrefs = [url.href for url in resolved.urls]
        assert len(hrefs) == len(set(hrefs)) == len(resolved.anchors) <= MAX_LINKS
        assert all(canonicalize(href).href == href for href in hrefs)
        assert {url.href for url in resolved.follow} <= set(hrefs)


def fuzz_extract(data: bytes) -> None:
    """A page from its header to its document, in each way to clean it: what Kafka can carry and a store write."""
    kind, body = _TYPES[(data[0] if data else 0) % len(_TYPES)], data[1:]
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nX-Robots-Tag: {body[:20].decode('latin-1')}\r\n"
    opened = open_page(_page(head.encode("latin-1"), body))
    if opened.pdf:
        return
    for way in (Way("odradek", obey=True, sites=_SITES), Way("odradek", obey=False, parse=False)):
        document = finish(opened, way, NOW).document
        assert decode(Document, encode(document)) == document
        json.loads(document.extracted)


def fuzz_records(data: bytes) -> None:
    """What others write: rules, seeds and records are taken, or refused in the one way that there is for it."""
    with suppress(UserError):
        Rules(read({"rules.toml": data.decode("utf-8", "replace")}))
    with suppress(NeverValid):
        seeds.to_url(seeds.read(data))
    header = encode(_page(b"", b""))[:10]
    with suppress(Undecodable):
        decode(Page, header + data)


def _page(head: bytes, body: bytes) -> Page:
    return Page(
        fetch_id="f", crawl="c", url=URL, url_id=url_id(URL), host="h.test", visit=0, depth=0, hops=0, parent=None,
        fetched_at=NOW, status=200, head=head, body=body, cut=None,
    )  # fmt: skip


TARGETS: dict[str, Callable[[bytes], None]] = {
    "decode": fuzz_decode,
    "links": fuzz_links,
    "extract": fuzz_extract,
    "records": fuzz_records,
}
