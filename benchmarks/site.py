"""A generated site that is never the bottleneck: every response is made before the first request.

Hosts ``hN.bench.test``; a page is 20 kB of prose with 50 links, most of them to pages of the same host. The server is a
bare protocol on uvloop, about 20 us of CPU a request.
"""

import asyncio
import gzip
import random
import sys
from dataclasses import dataclass
from typing import cast

import uvloop

LINKS = 50
PAGE_BYTES = 20_000
_WORDS = tuple(
    (
        "frontier host partition page link crawl broker offset lease record stream batch commit index store shard "
        + "politeness delay robots queue budget depth scope canonical archive reader writer answer header body status"
    ).split(" ")
)


@dataclass(frozen=True)
class Shape:
    """How large the site is."""

    hosts: int
    pages_per_host: int
    gzipped: bool

    def host(self, number: int) -> str:
        """The name of a host."""
        return f"h{number}.bench.test"

    def seeds(self, port: int) -> list[str]:
        """One URL for each host."""
        return [f"http://{self.host(number)}:{port}/0" for number in range(self.hosts)]


def page(shape: Shape, host: int, number: int, port: int) -> bytes:
    """The body of one page: the same for the same arguments."""
    dice = random.Random(host * 1_000_003 + number)
    near = [(number + step) % shape.pages_per_host for step in range(1, 21)]
    far = [dice.randrange(shape.pages_per_host) for _ in range(LINKS - len(near) - 2)]
    links = [f"/{target}" for target in near + far]
    links += [f"http://{shape.host(dice.randrange(shape.hosts))}:{port}/{dice.randrange(9)}" for _ in range(2)]
    anchors = "".join(f'<li><a href="{link}">{dice.choice(_WORDS)} {link[-6:]}</a></li>\n' for link in links)
    head = f"<!doctype html><html lang=en><head><meta charset=utf-8><title>Page {number} of {host}</title></head><body>"
    nav = f"<nav><ul>{anchors}</ul></nav>"
    paragraphs: list[str] = []
    size = len(head) + len(nav)
    while size < PAGE_BYTES - 100:
        text = "<p>" + " ".join(dice.choices(_WORDS, k=80)).capitalize() + ".</p>\n"
        paragraphs.append(text)
        size += len(text)
    return (head + nav + "<main><article>" + "".join(paragraphs) + "</article></main></body></html>").encode()


def responses(shape: Shape, port: int) -> dict[tuple[bytes, bytes], bytes]:
    """Every response by host and path."""
    made: dict[tuple[bytes, bytes], bytes] = {}
    for host in range(shape.hosts):
        name = f"{shape.host(host)}:{port}".encode()
        for number in range(shape.pages_per_host):
            body = page(shape, host, number, port)
            coding = b""
            if shape.gzipped:
                body, coding = gzip.compress(body, 6, mtime=0), b"Content-Encoding: gzip\r\n"
            made[name, b"/%d" % number] = (
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n%sContent-Length: %d\r\n\r\n%s"
                % (coding, len(body), body)
            )
    return made


_MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\ngone"


class _Connection(asyncio.Protocol):
    def __init__(self, made: dict[tuple[bytes, bytes], bytes]) -> None:
        self._made = made
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head, self._received = self._received[:end], self._received[end + 4 :]
            path = head.split(b" ", 2)[1]
            start = head.lower().find(b"\r\nhost:") + 7
            stop = head.find(b"\r\n", start)
            host = head[start : stop if stop >= 0 else len(head)].strip()
            if self._transport is not None:
                self._transport.write(self._made.get((host, path), _MISSING))


async def serve(shape: Shape) -> None:
    """Serve on a free port of loopback, print the port, end with whoever started it."""
    loop = asyncio.get_running_loop()
    made: dict[tuple[bytes, bytes], bytes] = {}
    server = await loop.create_server(lambda: _Connection(made), "127.0.0.1", 0, backlog=1_024)
    port = server.sockets[0].getsockname()[1]
    made.update(responses(shape, port))
    print(port, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    uvloop.run(serve(Shape(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "gzip")))
