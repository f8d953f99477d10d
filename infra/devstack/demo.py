"""The demo site: a small web of eight hosts on loopback, with the habits of the real one.

Links across hosts, a robots.txt that forbids something, redirects, pages that are gone, an old charset, gzip, and a
calendar without end behind robots.txt. Which response a URL gets is a pure function, so a test can compute the set of
pages that a right crawl finds (:func:`pages`).
"""

import asyncio
import contextlib
import gzip
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

from aiohttp import web

DOMAIN = "odradek.test"
HOSTS = tuple(f"{name}.{DOMAIN}" for name in ("www", "docs", "blog", "forum", "news", "shop", "wiki", "archive"))
PAGES_PER_HOST = 40
CALENDAR = "/calendar/"
ROBOTS = f"User-agent: *\nDisallow: {CALENDAR}\nDisallow: /private\n"

_SUBJECTS = ("A frontier", "The fetcher", "A good crawler", "Every host", "One partition", "The log", "A reader")
_VERBS = ("remembers", "waits for", "never loses", "asks politely for", "hands over", "counts", "writes down")
_OBJECTS = ("each page it was given", "the next link", "what others forgot", "a slow answer", "the whole story once")
_TOPICS = ("Politeness", "Partitions", "Replay", "Redirects", "Charsets", "Patience", "Threads", "Spools", "Stars")


@dataclass(frozen=True)
class Response:
    """What the site answers."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


def respond(host: str, path: str, port: int) -> Response:
    """The answer of ``host`` (without port) to a GET of ``path``, when the site is served on ``port``."""
    if host not in HOSTS:
        return Response(404, b"no such host here\n", {"Content-Type": "text/plain"})
    if path == "/robots.txt":
        return Response(200, ROBOTS.encode(), {"Content-Type": "text/plain"})
    if path.startswith(CALENDAR):
        day = int(path.removeprefix(CALENDAR) or 0)
        return _html(f'<title>Day {day}</title><p>Nothing today.</p><a href="{CALENDAR}{day + 1}">tomorrow</a>')
    if path.startswith("/old/"):
        return Response(301, b"", {"Location": "/page/" + path.removeprefix("/old/")})
    number = _number(path)
    if number is None:
        return Response(404, b"<title>Gone</title>", {"Content-Type": "text/html"})
    return _page(host, number, port)


def pages(port: int) -> Iterator[str]:
    """Every URL that is a page with status 200 and allowed by robots.txt."""
    for host in HOSTS:
        yield f"http://{host}:{port}/"
        for number in range(1, PAGES_PER_HOST):
            yield f"http://{host}:{port}/page/{number}"


def seed(port: int) -> str:
    """Where a crawl of everything begins."""
    return f"http://{HOSTS[0]}:{port}/"


def _number(path: str) -> int | None:
    if path == "/":
        return 0
    digits = path.removeprefix("/page/")
    if path.startswith("/page/") and digits.isdigit() and 0 < int(digits) < PAGES_PER_HOST:
        return int(digits)
    return None


def _page(host: str, number: int, port: int) -> Response:
    topic = _TOPICS[number % len(_TOPICS)]
    title = f"{topic} — {host.partition('.')[0]} {number}"
    links = [f"/page/{n}" for n in (number * 2 + 1, number * 2 + 2) if n < PAGES_PER_HOST]
    links += [f"http://{other}:{port}/" for other in HOSTS] if number == 0 else ["/", f"/old/{number}", "/missing"]
    links += [CALENDAR, "/private/desk"]
    anchors = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    text = "".join(f"<p>{_paragraph(host, number, n)}</p>" for n in range(5))
    html = f"<title>{title}</title><article><h1>{topic}</h1>{text}</article><nav><ul>{anchors}</ul></nav>"
    match number % 3:
        case 1:
            return _html(html, compress=True)
        case 2:
            return _html(html.replace("\u2014", "\u2013"), charset="windows-1252")
        case _:
            return _html(html)


def _html(body: str, charset: str = "utf-8", *, compress: bool = False) -> Response:
    content = f'<!doctype html><html lang="en"><meta charset="{charset}">{body}</html>'.encode(charset)
    headers = {"Content-Type": f"text/html; charset={charset}"}
    if compress:
        content = gzip.compress(content, 6, mtime=0)
        headers["Content-Encoding"] = "gzip"
    return Response(200, content, headers)


def _paragraph(host: str, number: int, place: int) -> str:
    dice = blake2b(f"{host}/{number}/{place}".encode(), digest_size=12).digest()
    return " ".join(
        f"{_SUBJECTS[a % len(_SUBJECTS)]} {_VERBS[b % len(_VERBS)]} {_OBJECTS[c % len(_OBJECTS)]}."
        for a, b, c in zip(dice[::3], dice[1::3], dice[2::3], strict=True)
    )


async def _answer(request: web.Request) -> web.Response:
    name, _, port = request.host.partition(":")
    response = respond(name, request.path, int(port or 80))
    return web.Response(status=response.status, body=response.body, headers=response.headers)


async def serve() -> None:
    """Serve on a free port of loopback; print the port; end when standard input does, so with whoever started it."""
    app = web.Application()
    app.router.add_get("/{path:.*}", _answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve())
