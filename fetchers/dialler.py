"""Open a connection: names to addresses, each judged where it is dialled, then TCP, then TLS."""

import asyncio
import socket
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from fetchers.addresses import Network, refusal
from fetchers.connection import Connection, Facts
from fetchers.faults import BlockedAddress, ConnectFault, Late
from fetchers.resolver import Resolver
from schemas.url import is_address

_STAGGER_S = 0.25
"""How long an address has before the next is tried beside it (RFC 8305, 5)."""


@dataclass(slots=True)
class Dial:
    """What happened below one request; filled in by whoever does it. Durations in seconds."""

    dns_s: float | None = None
    connect_s: float | None = None
    tls_s: float | None = None
    facts: Facts = field(default_factory=Facts)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a connection leads."""

    name: str
    """As in a URL: IPv6 addresses in brackets."""
    port: int
    tls: ssl.SSLContext | None = None


async def addresses_of(name: str, resolver: Resolver, allowed: Sequence[Network], dial: Dial) -> list[str]:
    """The addresses of a name that may be dialled, families in turn. Raises a fault when there is none."""
    if is_address(name):
        found: tuple[str, ...] = (name.strip("[]"),)
    else:
        began_s = time.monotonic()
        try:
            found = await resolver.resolve(name)
        finally:
            dial.dns_s = time.monotonic() - began_s
    judged = [(address, refusal(address, allowed)) for address in found]
    open_ones = [address for address, why in judged if why is None]
    if not open_ones:
        raise BlockedAddress("; ".join(f"{address} is blocked: {why}" for address, why in judged[:3]) or "no address")
    return in_turn(open_ones)


def in_turn(addresses: Sequence[str]) -> list[str]:
    """The families in turn, beginning with that of the first (RFC 8305, 4).

    Resolvers sort by what can be reached from here (RFC 6724): where there is no IPv6, IPv4 comes first.
    """
    first = [address for address in addresses if (":" in address) is (":" in addresses[0])]
    second = [address for address in addresses if (":" in address) is not (":" in addresses[0])]
    mixed = [address for pair in zip(first, second, strict=False) for address in pair]
    return mixed + first[len(second) :] + second[len(first) :]


async def open_socket(addresses: Sequence[str], port: int, timeout_s: float) -> socket.socket:
    """The first connection that is made; each address starts a moment after the one before, or when that failed."""
    if len(addresses) == 1:
        return await _connect(addresses[0], port, timeout_s)
    racing: set[asyncio.Task[socket.socket]] = set()
    waiting = list(addresses)
    error: Exception = ConnectFault("no address")
    try:
        while waiting or racing:
            if waiting:
                racing.add(asyncio.create_task(_connect(waiting.pop(0), port, timeout_s)))
            done, racing = await asyncio.wait(
                racing, timeout=_STAGGER_S if waiting else None, return_when=asyncio.FIRST_COMPLETED
            )
            made = [task for task in done if task.exception() is None]
            if made:
                racing.update(made[1:])
                return made[0].result()
            for task in done:
                failure = task.exception()
                error = failure if isinstance(failure, Exception) else error
        raise error
    finally:
        for task in racing:
            task.cancel()
            task.add_done_callback(_close_late)


def _close_late(task: "asyncio.Task[socket.socket]") -> None:
    if not task.cancelled() and task.exception() is None:
        task.result().close()


async def _connect(address: str, port: int, timeout_s: float) -> socket.socket:
    opened = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        opened.setblocking(False)
        # A request is one small segment: nothing to gain from waiting to fill it.
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        async with asyncio.timeout(timeout_s):
            await asyncio.get_running_loop().sock_connect(opened, (address, port))
    except TimeoutError:
        opened.close()
        raise Late(f"{address} takes no connection in time") from None
    except BaseException:
        opened.close()
        raise
    return opened


async def connect(place: Place, addresses: Sequence[str], timeout_s: float, dial: Dial) -> Connection:
    """A connection to the first address that takes it, TLS laid over it where the place wants it.

    Raises :class:`Fault`, :class:`OSError` or :class:`ssl.SSLError`.
    """
    loop = asyncio.get_running_loop()
    began_s = time.monotonic()
    opened = await open_socket(addresses, place.port, timeout_s)
    dial.connect_s = time.monotonic() - began_s
    address = str(opened.getpeername()[0])
    connection = Connection(loop)
    try:
        if place.tls is None:
            await loop.create_connection(lambda: connection, sock=opened)
            connection.facts = Facts(address)
        else:
            began_s = time.monotonic()
            await loop.create_connection(
                lambda: connection, sock=opened, ssl=place.tls, server_hostname=place.name.strip("[]"),
                ssl_handshake_timeout=timeout_s,
            )  # fmt: skip
            dial.tls_s = time.monotonic() - began_s
            connection.facts = Facts(address, tls_facts(connection))
    except BaseException:
        opened.close()
        raise
    return connection


def tls_facts(connection: Connection) -> str | None:
    """Version and cipher suite, as ``TLSv1.3 TLS_AES_256_GCM_SHA384``."""
    tls = connection.transport.get_extra_info("ssl_object")
    cipher = tls.cipher() if tls is not None else None
    return f"{tls.version()} {cipher[0]}" if cipher else None
