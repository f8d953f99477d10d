"""Proxies that work, fail and lie, on free ports of loopback."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Literal

Mode = Literal["works", "closes", "refuses", "lies", "silent", "drops", "unreachable"]


@dataclass
class RawProxy:
    """One proxy; ``mode`` may change while it runs."""

    scheme: str
    mode: Mode = "works"
    secret: tuple[str, str] | None = None
    port: int = 0
    asked: list[str] = field(default_factory=list)
    """Where it was asked to lead to."""
    names: dict[str, str] = field(default_factory=dict)
    seen_secrets: list[bytes] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        """As it stands in the settings."""
        user = f"{self.secret[0]}:{self.secret[1]}@" if self.secret else ""
        return f"{self.scheme}://{user}127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.connections += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            if self.mode == "silent":
                await asyncio.sleep(5)
            if self.mode != "closes":
                await (self._socks if self.scheme == "socks5" else self._connect)(reader, writer)
        writer.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        line, *fields = head.split(b"\r\n")
        self.seen_secrets += [each for each in fields if each.lower().startswith(b"proxy-authorization")]
        if self.mode == "refuses":
            writer.write(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")
            return
        if self.mode == "unreachable":
            writer.write(b"HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n")
            return
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        name, _, port = line.split(b" ")[1].decode().rpartition(":")
        await self._lead(name, int(port), reader, writer)

    async def _socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        if self.mode == "refuses":
            writer.write(b"\x05\xff")
            return
        writer.write(b"\x05\x02" if 2 in methods else b"\x05\x00")
        if 2 in methods:
            _, size = await reader.readexactly(2)
            user = await reader.readexactly(size)
            (size,) = await reader.readexactly(1)
            self.seen_secrets.append(user + b":" + await reader.readexactly(size))
            writer.write(b"\x01\x00")
        kind = (await reader.readexactly(4))[3]
        if kind == 3:
            (size,) = await reader.readexactly(1)
            name = (await reader.readexactly(size)).decode()
        else:
            name = str(ip_address(await reader.readexactly(4 if kind == 1 else 16)))
        port = int.from_bytes(await reader.readexactly(2), "big")
        if port == 1 or self.mode == "unreachable":
            writer.write(b"\x05\x05\x00\x01" + bytes(6))
            return
        writer.write(b"\x05\x00\x00\x01" + bytes(6))
        await self._lead(name, port, reader, writer)

    async def _lead(self, name: str, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append(f"{name}:{port}")
        if self.mode == "lies":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nlie")
            await reader.read(1)
            return
        if self.mode == "drops":
            await reader.readuntil(b"\r\n\r\n")
            return
        there, back = await asyncio.open_connection(self.names.get(name, name), port)
        await asyncio.gather(_copy(reader, back), _copy(there, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


@contextlib.asynccontextmanager
async def proxying(proxy: RawProxy, tls: ssl.SSLContext | None = None) -> AsyncIterator[RawProxy]:
    """Run it."""
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        await proxy.serve(reader, writer)
        tasks.discard(task)

    server = await asyncio.start_server(connected, "127.0.0.1", proxy.port, ssl=tls)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
