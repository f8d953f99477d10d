"""A web server on loopback that remembers who asked for what, and when."""

import asyncio
import mimetypes
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Self

from aiohttp import web


class Answer(NamedTuple):
    """What a site answers."""

    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = {}


class Visit(NamedTuple):
    """One request as the server saw it; ``at_s`` is monotonic."""

    at_s: float
    host: str
    path: str
    status: int


Respond = Callable[[str, str], Answer]

NOT_FOUND = Answer(404, "text/plain", b"gone")


class Site:
    """Serves ``respond(host, path)`` on a free port, in a thread, with an access log."""

    def __init__(self, respond: Respond) -> None:
        self._respond = respond
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="site", daemon=True)
        self._runner: web.AppRunner | None = None
        self.port = 0
        self.log: list[Visit] = []

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(10)
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._runner is not None:
            asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    async def _start(self) -> None:
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, backlog=512).start()
        self.port = self._runner.addresses[0][1]

    async def _answer(self, request: web.Request) -> web.Response:
        host = request.host.partition(":")[0]
        answer = self._respond(host, request.path)
        self.log.append(Visit(time.monotonic(), host, request.path, answer.status))
        return web.Response(
            status=answer.status,
            body=answer.body,
            headers={"Content-Type": answer.content_type, **answer.headers},
        )

    def gaps_s(self) -> dict[str, float]:
        """The shortest time between two requests to each host."""
        times: dict[str, list[float]] = defaultdict(list)
        for visit in self.log:
            times[visit.host].append(visit.at_s)
        return {
            host: min((later - earlier for earlier, later in pairwise(at)), default=float("inf"))
            for host, at in times.items()
        }


def files(root: Path) -> Respond:
    """A site that serves the files of a directory, the same under every name."""
    cache: dict[str, Answer] = {}

    def respond(_host: str, path: str) -> Answer:
        if path not in cache:
            file = root / path.lstrip("/")
            if file.is_dir():
                file /= "index.html"
            kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            cache[path] = Answer(200, kind, file.read_bytes()) if file.is_file() else NOT_FOUND
        return cache[path]

    return respond
