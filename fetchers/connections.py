"""The one door to the web: every socket that a fetcher opens is opened here, and checked here."""

import asyncio
import errno
import socket
import ssl
import time
from functools import partial
from typing import TYPE_CHECKING

from aiohttp import ClientResponse, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from fetchers.addresses import refusal
from fetchers.protocol import MendedResponseHandler
from fetchers.resolver import DIAL, Dial, Resolver
from infra.settings import Settings

if TYPE_CHECKING:
    from aiohttp import ClientRequest
    from aiohttp.connector import AddrInfoType, Connection
    from aiohttp.tracing import Trace

ACCEPT = "text/html,application/xhtml+xml;q=0.9,application/xml;q=0.8,*/*;q=0.5"
ACCEPT_ENCODING = "gzip, deflate, br, zstd"
"""What the cleaners can undo within bounds, and nothing else."""

_MAX_HEADER_LINE_BYTES = 64 * 1024
_MAX_HEADER_LINES = 512


class BlockedAddress(OSError):
    """The name leads to an address that must not be dialled."""


class Connections:
    """Keep-alive connections up to a limit; beyond it a connection serves one request. TLS is always verified."""

    def __init__(self, settings: Settings, resolver: Resolver | None = None) -> None:
        wanted = settings.fetchers
        self._connector = _Connector(settings, resolver or Resolver(wanted))
        self._session = ClientSession(
            connector=self._connector,
            auto_decompress=False,
            cookie_jar=DummyCookieJar(),
            trust_env=False,
            max_line_size=_MAX_HEADER_LINE_BYTES,
            max_field_size=_MAX_HEADER_LINE_BYTES,
            max_headers=_MAX_HEADER_LINES,
            # The caller keeps the time; a timer of its own here would only cost.
            timeout=ClientTimeout(
                total=None, connect=None, sock_read=None, sock_connect=wanted.connect_timeout.total_seconds()
            ),
            headers={
                "User-Agent": settings.identity.user_agent,
                "Accept": ACCEPT,
                "Accept-Encoding": ACCEPT_ENCODING,
            },
        )

    async def get(self, href: str, headers: dict[str, str], dial: Dial) -> ClientResponse:
        """Send a GET for a canonical URL and return at the end of the response's header; ``dial`` is filled in.

        The caller reads or closes the response. Raises what aiohttp raises; redirects are not followed.
        """
        DIAL.set(dial)
        return await self._session.get(URL(href, encoded=True), headers=headers or None, allow_redirects=False)

    def counts(self) -> dict[str, int]:
        """Connections by what they do."""
        return {"connections_busy": self._connector.busy, "connections_idle": self._connector.idle}

    async def close(self) -> None:
        """Close them all."""
        await self._session.close()


class _Connector(TCPConnector):
    def __init__(self, settings: Settings, resolver: Resolver) -> None:
        wanted = settings.fetchers
        super().__init__(
            resolver=resolver,
            ttl_dns_cache=int(wanted.dns_cache.total_seconds()),
            dns_cache_max_size=wanted.dns_cache_size,
            ssl=_tls(),
            limit=0,
            limit_per_host=wanted.connections_per_host,
            keepalive_timeout=wanted.keep_alive.total_seconds(),
            socket_factory=self._open_socket,
        )
        # aiohttp has no public way to choose the protocol of a connection.
        handler: type[ResponseHandler] = MendedResponseHandler
        self._factory = partial(handler, loop=self._loop)
        self._allowed = wanted.allow_networks
        self._idle_limit = wanted.idle_connections
        self._alive: set[ResponseHandler] = set()
        self.busy = 0

    @property
    def idle(self) -> int:
        """Connections that wait for their next request."""
        return len(self._alive) - self.busy

    def _open_socket(self, info: "AddrInfoType") -> socket.socket:
        """Every address that is dialled passes here, also those that never met a resolver."""
        family, kind, protocol, _, where = info
        address = str(where[0])
        dial = DIAL.get()
        reason = refusal(address, self._allowed)
        if reason is not None:
            dial.blocked.append(address)
            raise BlockedAddress(errno.EACCES, f"{address} is blocked: {reason}")
        dial.tried.append(address)
        opened = socket.socket(family, kind, protocol)
        # A request is one small segment: nothing to gain from waiting to fill it.
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return opened

    async def connect(
        self,
        req: "ClientRequest",
        traces: list["Trace"],
        timeout: ClientTimeout,  # noqa: ASYNC109  # the signature is aiohttp's
    ) -> "Connection":
        """Take a connection from the pool or open one, and write down how it went."""
        dial = DIAL.get()
        began_s = time.monotonic()
        connection = await super().connect(req, traces, timeout)
        if dial.tried:
            dial.connect_s = time.monotonic() - began_s - (dial.dns_s or 0.0)
        if connection.transport is not None:
            peer = connection.transport.get_extra_info("peername")
            dial.remote_address = str(peer[0]) if peer else None
        self.busy += 1
        connection.add_callback(self._on_release)
        protocol = connection.protocol
        if protocol is not None:
            self._follow(protocol)
            if self.idle >= self._idle_limit:
                protocol.force_close()
        return connection

    def _follow(self, protocol: ResponseHandler) -> None:
        if protocol in self._alive or (closed := protocol.closed) is None:
            return
        self._alive.add(protocol)

        def forget(future: "asyncio.Future[None]") -> None:
            self._alive.discard(protocol)
            # Looked at, so that asyncio does not report it as overlooked.
            _ = future.cancelled() or future.exception()

        closed.add_done_callback(forget)

    def _on_release(self) -> None:
        self.busy -= 1


def _tls() -> ssl.SSLContext:
    """Verified against the system's authorities, TLS 1.2 or newer, HTTP/1.1 only."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context
