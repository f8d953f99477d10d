"""A web that does everything wrong: each path is one way to, and has the outcomes that it must end in."""

import asyncio
import contextlib
import gzip
import os
import random
import socket
import struct
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple

import uvloop

from schemas.outcomes import Outcome
from schemas.records import Cut

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_BOMB = gzip.compress(bytes(20_000_000))

Behaviour = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Kind(NamedTuple):
    """One way to be wrong, and what must come of it."""

    behave: Behaviour
    outcome: Outcome
    cut: Cut | None = None
    resets: bool = False


def says(*pieces: bytes, pause_s: float = 0.0, times: int = 1, hold_s: float = 0.0) -> Behaviour:
    """Send the pieces, the last so many times, then wait."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        for piece in (*pieces[:-1], *[pieces[-1]] * times):
            writer.write(piece)
            await writer.drain()
            if pause_s:
                await asyncio.sleep(pause_s)
        await asyncio.sleep(hold_s)

    return behave


def _sized(body: bytes, more: bytes = b"") -> bytes:
    return OK + more + b"Content-Length: %d\r\n\r\n" % len(body) + body


def _status(line: bytes, more: bytes = b"") -> bytes:
    return b"HTTP/1.1 " + line + b"\r\n" + more + b"Content-Length: 0\r\n\r\n"


KINDS: dict[str, Kind] = {
    "good": Kind(says(_sized(b"<p>hello")), Outcome.OK),
    "huge": Kind(says(_sized(b"x" * 900_000)), Outcome.OK),
    "drip": Kind(says(OK + b"\r\n", b"x", pause_s=0.02, times=500), Outcome.OK, Cut.TIME),
    "slow": Kind(says(OK + b"\r\n", b"x" * 100, pause_s=0.02, times=500), Outcome.OK, Cut.TIME),
    "dripping header": Kind(says(b"H", b"T", b"T", b"P", b"/", pause_s=0.05, times=500), Outcome.TIMEOUT),
    "silent": Kind(says(b"", hold_s=9), Outcome.TIMEOUT),
    "silent body": Kind(says(OK + b"Content-Length: 9\r\n\r\n", b"", hold_s=9), Outcome.TIMEOUT),
    "endless": Kind(says(OK + b"\r\n", b"x" * 65_536, times=1_000), Outcome.OK, Cut.LENGTH),
    "endless chunks": Kind(
        says(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"10\r\n0123456789abcdef\r\n" * 3_000, times=1_000),
        Outcome.OK,
        Cut.LENGTH,
    ),
    "tiny chunks": Kind(
        says(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 9_000, times=1_000), Outcome.PROTOCOL_ERROR
    ),
    "endless framing": Kind(
        says(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1;" + b"x" * 9_000 + b"\r\nx\r\n", times=1_000),
        Outcome.PROTOCOL_ERROR,
    ),
    "header flood": Kind(says(OK, b"X-A: " + b"b" * 999 + b"\r\n", times=9_000), Outcome.PROTOCOL_ERROR),
    "field flood": Kind(says(OK, b"A: b\r\n" * 1_000, times=1_000), Outcome.PROTOCOL_ERROR),
    "endless line": Kind(says(OK, b"X-A: " + b"b" * 65_536, times=1_000), Outcome.PROTOCOL_ERROR),
    "interims": Kind(says(b"HTTP/1.1 103 x\r\n\r\n" * 100, times=1_000), Outcome.PROTOCOL_ERROR),
    "bomb": Kind(says(_sized(_BOMB, b"Content-Encoding: gzip\r\n")), Outcome.OK),
    "length too long": Kind(says(OK + b"Content-Length: 99\r\n\r\nshort"), Outcome.OK, Cut.DISCONNECT),
    "length too short": Kind(says(OK + b"Content-Length: 3\r\n\r\nabcdef"), Outcome.OK),
    "two lengths": Kind(says(OK + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"), Outcome.PROTOCOL_ERROR),
    "reset at once": Kind(says(b""), Outcome.DISCONNECT, resets=True),
    "reset in the header": Kind(says(OK, b"", pause_s=0.02), Outcome.DISCONNECT, resets=True),
    "reset in the body": Kind(says(OK + b"\r\nabc", b"", pause_s=0.02), Outcome.OK, Cut.DISCONNECT, resets=True),
    "close at once": Kind(says(b""), Outcome.DISCONNECT),
    "loop": Kind(says(_status(b"302 x", b"Location: /loop\r\n")), Outcome.REDIRECT),
    "to TLS": Kind(says(_status(b"301 x", b"Location: https://a.raw.test/\r\n")), Outcome.REDIRECT),
    "to a file": Kind(says(_status(b"302 x", b"Location: file:///etc/passwd\r\n")), Outcome.BAD_REDIRECT),
    "to two places": Kind(says(_status(b"302 x", b"Location: /a\r\nLocation: /b\r\n")), Outcome.BAD_REDIRECT),
    "to nowhere": Kind(says(_status(b"302 x")), Outcome.BAD_REDIRECT),
    "cookies": Kind(says(_sized(b"<p>", b"Set-Cookie: a=" + b"b" * 900 + b"\r\n")), Outcome.OK),
    "not modified": Kind(says(b"HTTP/1.1 304 x\r\n\r\n"), Outcome.PROTOCOL_ERROR),
    "too many": Kind(says(_status(b"429 x", b"Retry-After: 9\r\n")), Outcome.RATE_LIMITED),
    "busy": Kind(says(_status(b"503 x")), Outcome.SERVER_ERROR),
    "gone": Kind(says(_status(b"410 x")), Outcome.CLIENT_ERROR),
    "late": Kind(says(_status(b"408 x")), Outcome.TIMEOUT),
    "film": Kind(
        says(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n", bytes(65_536), times=999), Outcome.SKIPPED
    ),
    "old": Kind(says(b"<html><p>HTTP/0.9"), Outcome.PROTOCOL_ERROR),
    "TLS": Kind(says(b"\x15\x03\x03\x00\x02\x02\x0a"), Outcome.PROTOCOL_ERROR),
    "noise": Kind(says(random.Random(1).randbytes(4_000)), Outcome.PROTOCOL_ERROR),
}


def path(kind: str) -> str:
    """Its path on every host of the site."""
    return "/" + kind.replace(" ", "-")


_BY_PATH = {path(name).encode(): kind for name, kind in KINDS.items()}


async def _connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    # RuntimeError is uvloop's word for a transport that is closed.
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, RuntimeError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            kind = _BY_PATH[head.split(b" ")[1].partition(b"?")[0]]
            await kind.behave(writer)
            if kind.resets:
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            if kind.outcome is not Outcome.OK or kind.cut is not None or kind.resets:
                break
    writer.close()


async def serve() -> None:
    """Serve it on a free port of loopback, print the port, end with whoever started it."""
    server = await asyncio.start_server(_connected, "127.0.0.1", 0, backlog=1_024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    os._exit(0)


@contextlib.asynccontextmanager
async def hostile_web() -> AsyncIterator[int]:
    """Serve it from a process of its own, so that it takes nothing from whoever is measured; gives the port."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.site.hostile", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield int(await process.stdout.readline())
    finally:
        process.kill()
        await process.wait()


if __name__ == "__main__":
    uvloop.run(serve())
