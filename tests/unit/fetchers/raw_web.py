"""A server that sends bytes, right or wrong, and a fetcher that may reach it. Shared by the fetchers' tests."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, TypeVar

import uvloop

from fetchers.attempt import Attempt
from fetchers.connections import Connections
from fetchers.faults import NoSuchHost
from fetchers.fetcher import Fetcher
from fetchers.resolver import Addresses, Lookup
from infra.settings import FetcherSettings, Settings
from schemas.records import Kind, Request
from schemas.url import canonicalize, url_id

T = TypeVar("T")
BUSY = {"connections_persistent", "connections_temporary", "connections_standby"}
Handler = Callable[[bytes, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def request(href: str, **fields: Any) -> Request:
    """A request for a canonical URL."""
    host = href.split("/")[2] if "//" in href else ""
    plain = Request(
        crawl="test",
        url=href,
        url_id=url_id(href),
        host=host,
        kind=Kind.PAGE,
        lease="lease",
        visit=0,
        attempt=0,
        depth=0,
        hops=0,
        parent=None,
        delay_ms=0,
        robots=None,
        released_at=datetime.now(UTC),
    )
    return plain.model_copy(update=fields)


def canonical(text: str, **fields: Any) -> Request:
    """A request for any spelling of a URL."""
    return request(canonicalize(text).href, **fields)


def settings(**fetchers: Any) -> Settings:
    """Settings by which loopback may be reached, under names of ``raw.test`` too."""
    wanted = {"allow_networks": ("127.0.0.0/8",), "resolve": {"*.raw.test": "127.0.0.1"}} | fetchers
    return Settings(fetchers=FetcherSettings(**wanted))


def sending(response: bytes, *, reset: bool = False) -> Handler:
    """Answer each request with these bytes, then close the connection, by a reset when asked."""

    async def handle(_head: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(response)
        with contextlib.suppress(ConnectionError):
            await writer.drain()
        if reset:
            opened = writer.get_extra_info("socket")
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return handle


@contextlib.asynccontextmanager
async def serving(handle: Handler) -> AsyncIterator[int]:
    """Serve on a free port of loopback; each connection may ask several times."""
    open_tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_tasks.add(task)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            await handle(head, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            open_tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(open_tasks):
            task.cancel()


async def no_dns(name: str) -> Addresses:
    """A DNS without any names."""
    raise NoSuchHost(name)


@contextlib.asynccontextmanager
async def fetching(
    configured: Settings,
    lookup: Lookup = no_dns,
    second: Lookup | None = None,
    *,
    detect: bool = False,
    proxies: Callable[[], str | None] = lambda: None,
) -> AsyncIterator[Fetcher]:
    """A fetcher with connections of its own; ``lookup`` stands for DNS, ``second`` for the standby tier's."""
    connections = Connections(configured.fetchers, lookup, second, proxies)
    try:
        yield Fetcher(configured, connections, detect=detect)
        assert not any(count for name, count in connections.counts().items() if name in BUSY), connections.counts()
    finally:
        await connections.close()


def run(scenario: Coroutine[Any, Any, T]) -> T:
    """Run a scenario in the kind of loop that the stage has."""
    result: T = uvloop.run(scenario)
    return result


def fetch_once(handle: Handler, path: str = "/", configured: Settings | None = None, **fields: Any) -> Attempt:
    """Fetch ``path`` once from a server that behaves so."""

    async def scenario() -> Attempt:
        async with serving(handle) as port, fetching(configured or settings()) as fetcher:
            return await fetcher.fetch(request(f"http://127.0.0.1:{port}{path}", **fields))

    return run(scenario())
