"""What a server sends, right or wrong, ends as the right outcome: through the real fetcher, over a real socket."""

import asyncio
import base64
import contextlib
import gzip
import json
import socket
import struct
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from fetchers.attempt import Attempt
from schemas.codings import undo
from schemas.outcomes import CONSEQUENCES, Outcome, Retry
from schemas.records import Cut, Kind
from tests.unit.fetchers.raw_web import Handler, fetch_once, fetching, request, run, sending, serving, settings

OK = b"HTTP/1.1 200 OK\r\n"
HTML = OK + b"Content-Type: text/html\r\n"
IMPATIENT = {
    "rate_grace": timedelta(seconds=0.2),
    "head_timeout": timedelta(seconds=0.3),
    "total_timeout": timedelta(seconds=1),
}


def in_parts(*parts: bytes, pause_s: float = 0.02, hold_s: float = 0, reset: bool = False) -> Handler:
    """Send the parts one by one, keep the connection for a while, then close or reset it."""

    async def handle(_head: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            with contextlib.suppress(ConnectionError):
                await writer.drain()
            await asyncio.sleep(pause_s)
        await asyncio.sleep(hold_s)
        if reset:
            opened = writer.get_extra_info("socket")
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return handle


def decoded(attempt: Attempt) -> bytes:
    """The body without its content codings, as a cleaner sees it."""
    lines = attempt.head.lower().split(b"\r\n")
    codings = [line.partition(b":")[2].strip().decode("latin-1") for line in lines if line.startswith(b"content-enc")]
    return undo(attempt.body, codings, 10**7).body


def check(expected: dict[str, Any], attempt: Attempt) -> None:
    """Hold an attempt against what a standard case expects."""
    permanent = CONSEQUENCES[attempt.outcome].retry is Retry.NEVER
    if "redirect" in expected:
        wanted = expected["redirect"]
        assert attempt.outcome is (Outcome.REDIRECT if wanted else Outcome.BAD_REDIRECT)
        assert (attempt.redirect_to or "").endswith(wanted or "")
    elif expected.get("ok") is False:
        # "stored with truncated flag": whether coded bytes are cut is found where they are decoded.
        assert attempt.outcome is not Outcome.OK or "or" in expected
        assert attempt.outcome is Outcome.OK or permanent is (expected["class"] == "permanent")
    elif attempt.outcome is not Outcome.OK:
        assert "or" in expected, attempt.error
        assert permanent
    else:
        assert attempt.status == 200
        assert expected.get("text", "").encode() in decoded(attempt)
        if "text_prefix" in expected:
            assert len(attempt.body) == expected["text_prefix"]


def test_every_faulty_response_of_the_cases(cases: Path) -> None:
    """Each standard case has its outcome, and nothing of it trips a serialiser."""
    for line in (cases / "http_faults.jsonl").read_text().splitlines():
        row = json.loads(line)
        response = base64.b64decode(row["input"]["response_b64"])
        attempt = fetch_once(sending(response, reset=not response), configured=settings(**IMPATIENT))
        try:
            check(row["expected"], attempt)
        except AssertionError as error:
            raise AssertionError(f"{row['input']['id']}: {attempt}") from error
        wanted = request("http://h.test/")
        page, fetch = attempt.records(wanted, "worker")
        json.dumps(fetch.model_dump(mode="json", exclude={"url_id", "body_hash"}), ensure_ascii=False).encode("utf-8")
        assert (page is not None) is (attempt.outcome is Outcome.OK)


@pytest.mark.parametrize(
    ("handler", "outcome", "cut", "body"),
    [
        (in_parts(HTML + b"Content-Length: 9\r\n\r\nabc"), Outcome.OK, Cut.DISCONNECT, b"abc"),
        (in_parts(HTML + b"Content-Length: 9\r\n\r\nabc", reset=True), Outcome.OK, Cut.DISCONNECT, b"abc"),
        (sending(HTML + b"Content-Length: 9\r\n\r\nabc"), Outcome.OK, Cut.DISCONNECT, b"abc"),
        (in_parts(HTML + b"\r\nabc", reset=True), Outcome.OK, Cut.DISCONNECT, b"abc"),
        (in_parts(HTML + b"\r\nabc"), Outcome.OK, None, b"abc"),
        (in_parts(HTML + b"Content-Length: 9\r\n\r\n"), Outcome.DISCONNECT, None, b""),
        (in_parts(HTML), Outcome.DISCONNECT, None, b""),
        (in_parts(b""), Outcome.DISCONNECT, None, b""),
        (in_parts(HTML + b"\r\n", *[b"a"] * 90, pause_s=0.05), Outcome.OK, Cut.TIME, b"aaa"),
        (in_parts(HTML + b"Content-Length: 9\r\n\r\n", hold_s=3), Outcome.TIMEOUT, None, b""),
        (in_parts(HTML, hold_s=3), Outcome.TIMEOUT, None, b""),
        (in_parts(*[b"HTTP/1.1 103 x\r\n\r\n"] * 90), Outcome.TIMEOUT, None, b""),
        (in_parts(HTML + b"\r\n", *[b"a" * 9_000] * 90), Outcome.OK, Cut.TIME, b"aaa"),
        (in_parts(HTML + b"Content-Length: 4\r\n\r\nabc", b"dX"), Outcome.OK, None, b"abcd"),
        (in_parts(HTML + b"Content-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\n\r\nX"), Outcome.OK, None, b"abc"),
        (sending(b"HTTP/1.1 204 No\r\nContent-Length: 3\r\n\r\nabc"), Outcome.OK, None, b""),
        (sending(b"HTTP/1.1 99999 x\r\nContent-Length: 0\r\n\r\n"), Outcome.PROTOCOL_ERROR, None, b""),
        (sending(OK + b"X: " + b"a" * 70_000 + b"\r\n\r\n"), Outcome.PROTOCOL_ERROR, None, b""),
        (sending(OK + b"X: a\r\n" * 20_000 + b"\r\n"), Outcome.PROTOCOL_ERROR, None, b""),
        (sending(OK + (b"X: " + b"a" * 9_000 + b"\r\n") * 9 + b"\r\n"), Outcome.PROTOCOL_ERROR, None, b""),
        (sending(b"\x15\x03\x01\x00\x02\x02\x50"), Outcome.PROTOCOL_ERROR, None, b""),
        (sending(OK + b"Content-Type: image/png\r\nContent-Length: 1\r\n\r\nx"), Outcome.SKIPPED, None, b""),
        (sending(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\x00\x01"), Outcome.SKIPPED, None, b""),
        (sending(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n<p>"), Outcome.OK, None, b"<p>"),
    ],
)  # fmt: skip
def test_a_fault_ends_as_its_outcome(handler: Handler, outcome: Outcome, cut: Cut | None, body: bytes) -> None:
    """Variants of each kind of fault: what came is kept and marked, what is no HTTP is an error, nothing hangs."""
    attempt = fetch_once(handler, configured=settings(**IMPATIENT))
    assert (attempt.outcome, attempt.cut) == (outcome, cut), attempt
    assert attempt.body.startswith(body)


@pytest.mark.parametrize("first", [b"", b"4\r\nGood\r\n"])
@pytest.mark.parametrize("pause_s", [0, 0.05])
def test_a_broken_chunk_ends_at_once(first: bytes, pause_s: float) -> None:
    """A chunk without its line end is an error as soon as it is read, not when time is up (aiohttp#10355)."""
    start = HTML + b"Transfer-Encoding: chunked\r\n\r\n" + first
    broken = b"4\r\nHello\r\n0\r\n\r\n"
    parts = (start, broken) if pause_s else (start + broken,)
    attempt = fetch_once(in_parts(*parts, pause_s=pause_s, hold_s=1))
    assert attempt.outcome is Outcome.PROTOCOL_ERROR
    assert attempt.total_ms < 10_000


def test_a_long_body_is_cut_at_its_bound() -> None:
    """Reading stops at the bound and the page says so; a body of just that size is whole."""
    small = settings(max_body_kib=64)
    whole = fetch_once(sending(HTML + b"Content-Length: 65536\r\n\r\n" + b"a" * 65_536), configured=small)
    assert (whole.cut, len(whole.body)) == (None, 65_536)
    endless = fetch_once(in_parts(HTML + b"\r\n", *[b"a" * 65_536] * 50, pause_s=0), configured=small)
    assert (endless.cut, len(endless.body)) == (Cut.LENGTH, 65_536)


def test_a_large_body_comes_whole_when_the_server_closes_early() -> None:
    """All bytes are there though the server has closed long before they are read (aiohttp#13348)."""
    body = b"<p>" + b"x" * 8_000_000
    attempt = fetch_once(sending(HTML + b"Content-Length: %d\r\n\r\n" % len(body) + body))
    assert (attempt.outcome, attempt.cut, attempt.body == body) == (Outcome.OK, None, True)


def test_headers_are_kept_as_they_came() -> None:
    """Order, case, repeats and any byte; the body stays coded."""
    coded = gzip.compress(b"<p>hello")
    lines = b"X-C: caf\xe9\r\nSet-Cookie: a\r\nset-cookie: b\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n"
    response = b"HTTP/1.1 200 Tr\xe8s bien\r\n" + lines + b"Content-Length: %d\r\n" % len(coded)
    attempt = fetch_once(sending(response + b"\r\n" + coded))
    assert attempt.head == response
    assert attempt.body == coded


def test_fields_of_the_response_reach_the_fetch() -> None:
    """Validators, Retry-After and media type as sent, bytes beyond ASCII as latin-1."""
    lines = b'ETag: "\xe9"\r\nLast-Modified: yesterday\r\nRetry-After: 7\r\nContent-Type: text/html; x=\xe9\r\n'
    attempt = fetch_once(sending(b"HTTP/1.1 503 x\r\n" + lines + b"Content-Length: 0\r\n\r\n"))
    assert (attempt.outcome, attempt.status, attempt.retry_after) == (Outcome.SERVER_ERROR, 503, "7")
    assert (attempt.etag, attempt.last_modified) == ('"é"', "yesterday")
    assert attempt.content_type == "text/html; x=é"


def test_a_redirect_to_itself_is_one_hop_with_its_count() -> None:
    """Nothing is followed here, and the hop count travels on: whoever follows can stop (frontera#87)."""
    loop = sending(b"HTTP/1.1 302 x\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n")
    attempt = fetch_once(loop, "/x", hops=7)
    _, fetch = attempt.records(request("http://h.test/x", hops=7), "worker")
    assert (fetch.outcome, fetch.hops) == (Outcome.REDIRECT, 7)
    assert (fetch.redirect_to or "").endswith("/x")


def test_the_request_is_honest_and_conditional() -> None:
    """User agent, codings and validators are sent; no cookie is ever sent back."""
    heads: list[bytes] = []

    async def handle(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head:
            heads.append(head)
            writer.write(b"HTTP/1.1 304 x\r\nSet-Cookie: s=1; Path=/\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")

    async def scenario() -> list[Attempt]:
        async with serving(handle) as port, fetching(settings()) as fetcher:
            url = f"http://a.raw.test:{port}/x'y?z=%C3%A9"
            wanted = request(url, etag='"e"', last_modified="Tue, 01 Dec 2026 10:00:00 GMT")
            return [await fetcher.fetch(each) for each in (wanted, wanted, request(url, etag='"\u20ac"'))]

    attempts = run(scenario())
    assert [attempt.outcome for attempt in attempts] == [
        Outcome.NOT_MODIFIED,
        Outcome.NOT_MODIFIED,
        Outcome.PROTOCOL_ERROR,
    ]
    assert heads[0].startswith(b"GET /x'y?z=%C3%A9 HTTP/1.1\r\n")
    assert b"User-Agent: Odradek/0.1 (crawler)\r\n" in heads[0]
    assert b"Accept-Encoding: gzip, deflate, br, zstd\r\n" in heads[0]
    assert b'If-None-Match: "e"\r\n' in heads[0]
    assert b"If-Modified-Since: Tue, 01 Dec 2026 10:00:00 GMT\r\n" in heads[0]
    assert not any(b"Cookie" in head for head in heads)
    assert b"If-None-Match" not in heads[2]


def test_a_robots_txt_comes_decoded_and_bounded() -> None:
    """Its body is in the fetch, codings undone, of whatever media type; there is no page."""
    coded = gzip.compress(b"User-agent: *\nDisallow: /\n" + b"#" * 2_000_000)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    attempt = fetch_once(sending(head % len(coded) + coded), "/robots.txt", kind=Kind.ROBOTS)
    page, fetch = attempt.records(request("http://h.test/robots.txt", kind=Kind.ROBOTS), "worker")
    assert page is None
    assert fetch.outcome is Outcome.OK
    assert fetch.body is not None
    assert fetch.body.startswith(b"User-agent: *\n")
    assert len(fetch.body) == 500 * 1024


def test_a_robots_txt_whose_coding_breaks_off_is_marked() -> None:
    """Its body is complete on the wire, its text is not: it must not pass for a file with few rules."""
    coded = gzip.compress(b"User-agent: *\nDisallow: /\n" * 50)[:-20]
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(coded)
    attempt = fetch_once(sending(head + coded), "/robots.txt", kind=Kind.ROBOTS)
    assert (attempt.outcome, attempt.cut) == (Outcome.OK, Cut.DECODE)


def test_a_kept_connection_serves_again_and_a_surplus_one_does_not() -> None:
    """Connections are reused, also after an error page; within the limit of idle ones, and never after a surplus."""
    connections = 0

    async def handle(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while head:
            surplus = b"HTTP/1.1 200 OK\r\n\r\nevil" if b"surplus" in head else b""
            writer.write(b"HTTP/1.1 404 x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            if surplus:
                writer.write(HTML + b"Content-Length: 2\r\n\r\nok" + surplus)
                head = await reader.readuntil(b"\r\n\r\n")

    async def scenario(paths: list[str], idle: int) -> None:
        async with serving(handle) as port, fetching(settings(idle_connections=idle)) as fetcher:
            for path in paths:
                attempt = await fetcher.fetch(request(f"http://127.0.0.1:{port}{path}"))
                assert attempt.body in (b"", b"ok")

    run(scenario(["/a", "/b", "/c"], 10))
    assert connections == 1
    connections = 0
    run(scenario(["/a", "/b", "/c"], 0))
    assert connections == 3
    connections = 0
    run(scenario(["/surplus", "/b", "/c"], 10))
    assert connections == 2
