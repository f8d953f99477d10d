"""A way through a proxy to a place: CONNECT (RFC 9110, 9.3.6) or SOCKS 5 (RFC 1928, RFC 1929)."""

import asyncio
import base64
from collections.abc import Callable
from ipaddress import ip_address
from typing import cast

from fetchers.faults import BrokenProtocol, ConnectFault, ProxyFault
from fetchers.heads import Head
from fetchers.proxies import Proxy

_MAX_BYTES = 16 * 1024
_PLACE_UNREACHABLE = (502, 504)
"""By these a proxy says that it could not get through to the place (RFC 9110, 15.6)."""
_SOCKS_PLACE_UNREACHABLE = {3: "network unreachable", 4: "host unreachable", 5: "refused", 6: "expired"}
_SOCKS_ADDRESS_BYTES = {1: 4, 4: 16}


class Talk(asyncio.Protocol):
    """Question and answer over a transport, before somebody else gets it."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self._received = b""
        self._ended = False
        self._came = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        self._received += data
        self._came.set()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Called by the loop."""
        del exc
        self._ended = True
        self._came.set()

    def send(self, data: bytes) -> None:
        """Say something."""
        if self.transport is None or self._ended:
            raise ProxyFault("the proxy closed the connection")
        self.transport.write(data)

    async def hear(self, length: Callable[[bytes], int | None]) -> bytes:
        """What came, as soon as ``length`` knows how many bytes of it are the answer."""
        while True:
            wanted = length(self._received)
            if wanted is not None and len(self._received) >= wanted:
                answer, self._received = self._received[:wanted], self._received[wanted:]
                return answer
            if self._ended:
                raise ProxyFault("the proxy closed the connection")
            if len(self._received) > _MAX_BYTES:
                raise ProxyFault("the proxy's answer has no end")
            self._came.clear()
            await self._came.wait()

    def finish(self) -> None:
        """Nothing may be left: it would pass for the answer of the place."""
        if self._received or self._ended:
            raise ProxyFault("the proxy said more than it was asked")


async def lay(talk: Talk, proxy: Proxy, name: str, port: int) -> None:
    """Make the proxy pass bytes on to a place; ``name`` is an address where the proxy is not to resolve.

    Raises :class:`ProxyFault`, or :class:`ConnectFault` where the proxy says that the place cannot be reached.
    """
    if proxy.scheme == "socks5":
        await _socks(talk, proxy, name, port)
    else:
        await _connect(talk, proxy, name, port)
    talk.finish()


async def _connect(talk: Talk, proxy: Proxy, name: str, port: int) -> None:
    authority = f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
    lines = f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n"
    if proxy.user or proxy.password:
        secret = base64.b64encode(f"{proxy.user}:{proxy.password}".encode()).decode()
        lines += f"Proxy-Authorization: Basic {secret}\r\n"
    talk.send(lines.encode() + b"\r\n")

    def length(received: bytes) -> int | None:
        end = received.find(b"\r\n\r\n")
        return end + 4 if end >= 0 else None

    try:
        status = Head((await talk.hear(length))[:-4]).status
    except BrokenProtocol:
        raise ProxyFault("the proxy speaks no HTTP") from None
    if status == 407:
        raise ProxyFault("the proxy refuses our credentials")
    if status in _PLACE_UNREACHABLE:
        raise ConnectFault(f"the proxy says: {status}")
    if status // 100 != 2:
        raise ProxyFault(f"the proxy answers CONNECT by {status}")


async def _socks(talk: Talk, proxy: Proxy, name: str, port: int) -> None:
    has_secret = bool(proxy.user or proxy.password)
    talk.send(b"\x05\x02\x00\x02" if has_secret else b"\x05\x01\x00")
    version, method = await talk.hear(lambda _: 2)
    if version != 5 or method == 0xFF or (method == 2 and not has_secret):
        raise ProxyFault("the proxy takes none of our ways to authenticate")
    if method == 2:
        user, password = proxy.user.encode()[:255], proxy.password.encode()[:255]
        talk.send(b"\x01" + bytes([len(user)]) + user + bytes([len(password)]) + password)
        if (await talk.hear(lambda _: 2))[1] != 0:
            raise ProxyFault("the proxy refuses our credentials")
    talk.send(b"\x05\x01\x00" + _socks_address(name) + port.to_bytes(2, "big"))
    reply = (await talk.hear(_socks_reply_bytes))[1]
    if reply in _SOCKS_PLACE_UNREACHABLE:
        raise ConnectFault(f"the proxy says: {_SOCKS_PLACE_UNREACHABLE[reply]}")
    if reply != 0:
        raise ProxyFault(f"the proxy answers by {reply}")


def _socks_address(name: str) -> bytes:
    try:
        address = ip_address(name)
    except ValueError:
        raw = name.encode("ascii")
        return b"\x03" + bytes([len(raw)]) + raw
    return (b"\x01" if address.version == 4 else b"\x04") + address.packed


def _socks_reply_bytes(received: bytes) -> int | None:
    if len(received) < 5:
        return None
    if received[0] != 5:
        raise ProxyFault("the proxy speaks no SOCKS 5")
    address_bytes = _SOCKS_ADDRESS_BYTES.get(received[3], 1 + received[4])
    return 4 + address_bytes + 2
