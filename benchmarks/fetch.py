"""What a page costs the fetcher alone, against a bare aiohttp loop in the same process and run.

    python -m benchmarks.fetch [--pages 3000] [--rounds 5]

Both fetch the same pages from the same server over kept connections; CPU is user and system time of this process, the
best of the rounds, which alternate. ``with records`` adds what the stage makes of an attempt:
the page and the fetch as Avro.
"""

import argparse
import asyncio
import gzip
import random
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from ipaddress import ip_network

import aiohttp
import uvloop

from benchmarks import report
from fetchers.connections import Connections
from fetchers.fetcher import Fetcher
from infra.settings import FetcherSettings, Settings
from schemas.records import Kind, Request
from schemas.url import url_id
from schemas.wire import encode

CONCURRENCY = 50
_WORDS = (*("frontier", "host", "partition", "page", "link", "crawl", "broker", "offset", "lease"), "record", "stream")
_HEAD = (
    b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Tue, 01 Dec 2026 10:00:00 GMT\r\nVary: Accept-Encoding\r\n"
    b'Content-Type: text/html; charset=utf-8\r\nETag: "5f3e"\r\nLast-Modified: Mon, 30 Nov 2026 10:00:00 GMT\r\n'
    b"X-Frame-Options: DENY\r\n"
)


def bodies() -> dict[bytes, bytes]:
    """20 kB plain, and gzip of 115 kB, the median of real article pages."""
    dice = random.Random(7)

    def text(size: int) -> bytes:
        out = "<!doctype html><title>x</title>"
        while len(out) < size:
            out += f"<p class=c{dice.randrange(10**6)}>{' '.join(dice.choices(_WORDS, k=12))} {dice.random()}</p>\n"
        return out[:size].encode()

    coded = gzip.compress(text(115_000), 6, mtime=0)
    plain = text(20_000)
    return {
        b"/plain": _HEAD + b"Content-Length: %d\r\n\r\n" % len(plain) + plain,
        b"/gzip": _HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(coded) + coded,
    }


class _Server(asyncio.Protocol):
    def __init__(self, made: dict[bytes, bytes]) -> None:
        self._made = made

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(self._made[data.split(b" ", 2)[1]])  # type: ignore[attr-defined]


async def serve() -> None:
    """Serve on a free port of loopback, print it, end with whoever started it."""
    made = bodies()
    server = await asyncio.get_running_loop().create_server(lambda: _Server(made), "127.0.0.1", 0, backlog=1_024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


async def measure(fetch: Callable[[int], Awaitable[object]], pages: int) -> float:
    """CPU seconds for 1,000 pages."""
    numbers = iter(range(pages))

    async def worker() -> None:
        for number in numbers:
            await fetch(number)

    start_s = time.process_time()
    await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
    return (time.process_time() - start_s) / pages * 1_000


@asynccontextmanager
async def contenders(port: int, path: str) -> AsyncIterator[dict[str, Callable[[int], Awaitable[object]]]]:
    """The bare loop, the fetcher, and the fetcher with its records; each on connections of its own."""
    settings = Settings(
        fetchers=FetcherSettings(
            allow_networks=(ip_network("127.0.0.0/8"),), resolve={"*.bench.test": "127.0.0.1"}, idle_connections=500
        )
    )
    connections = Connections(settings.fetchers)
    fetcher = Fetcher(settings, connections)

    def url(number: int) -> str:
        return f"http://h{number % CONCURRENCY}.bench.test:{port}{path}"

    async def ours(number: int) -> None:
        attempt = await fetcher.fetch(request(url(number)))
        assert attempt.status == 200, attempt
        assert len(attempt.body) > 15_000

    async def whole(number: int) -> None:
        wanted = request(url(number))
        page, fetch = (await fetcher.fetch(wanted)).records(wanted, "bench")
        assert page is not None
        assert len(encode(page)) + len(encode(fetch)) > 15_000

    connector = aiohttp.TCPConnector(limit=0, resolver=_Loopback())
    async with aiohttp.ClientSession(
        connector=connector, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:

        async def bare(number: int) -> None:
            async with session.get(url(number), allow_redirects=False) as response:
                assert len(await response.read()) > 15_000

        yield {"aiohttp": bare, "fetcher": ours, "fetcher with records": whole}
    await connections.close()


class _Loopback(aiohttp.abc.AbstractResolver):
    async def resolve(  # the signature is aiohttp's
        self,
        host: str,
        port: int = 0,
        family: int = 0,  # noqa: ARG002
    ) -> list[aiohttp.abc.ResolveResult]:
        return [{"hostname": host, "host": "127.0.0.1", "port": port, "family": 2, "proto": 0, "flags": 0}]

    async def close(self) -> None:
        return


def request(url: str) -> Request:
    """A request for a page."""
    return Request(
        crawl="bench", url=url, url_id=url_id(url), host=url.split("/")[2], kind=Kind.PAGE, lease="lease", visit=0,
        attempt=0, depth=0, hops=0, parent=None, delay_ms=0, robots=None, released_at=datetime.now(UTC),
    )  # fmt: skip


async def run(pages: int, rounds: int) -> dict[str, dict[str, float]]:
    """CPU seconds for 1,000 pages, by page and contender."""
    server = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchmarks.fetch",
        "--serve",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert server.stdout is not None
    port = int(await server.stdout.readline())
    result: dict[str, dict[str, float]] = {}
    try:
        for path in ("/plain", "/gzip"):
            best: dict[str, float] = {}
            async with contenders(port, path) as each:
                for _ in range(rounds + 1):
                    for name, fetch in each.items():
                        cost = await measure(fetch, pages)
                        best[name] = min(best.get(name, cost), cost)
            best["ratio"] = best["fetcher"] / best["aiohttp"]
            result[path.strip("/")] = {name: round(cost, 4) for name, cost in best.items()}
    finally:
        server.terminate()
        await server.wait()
    return result


def main() -> None:
    """Run the benchmark."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--pages", type=int, default=3_000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.serve:
        uvloop.run(serve())
        return
    result = uvloop.run(run(chosen.pages, chosen.rounds))
    report.tell("fetch", result)


if __name__ == "__main__":
    main()
