"""Health of a stage: alive by progress, ready by assignment. Served with the metrics on a port of its own."""

import json
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from ipaddress import ip_address
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from infra.stage import Explains, ListsHosts, Stage
from schemas.url import canonicalize

STALL = timedelta(seconds=60)
ASK_WITHIN = timedelta(seconds=5)
MOST_HOSTS = 1_000
"""In one answer."""


@dataclass
class ProgressWatch:
    """Whether a stage stalls: work waits and nothing was finished for :data:`STALL` (no client library tells)."""

    finished: int = -1
    since_s: float = 0.0

    def alive(self, stage: Stage, now_s: float) -> bool:
        """Look at the stage at monotonic time ``now_s``; ``False`` means restart it."""
        progress = stage.progress()
        if progress.finished != self.finished or not progress.waiting:
            self.finished, self.since_s = progress.finished, now_s
        return now_s - self.since_s < STALL.total_seconds()


class HealthServer:
    """``/livez``, ``/readyz``, ``/metrics``; of a stage that can ``/explain`` and ``/hosts``. Read-only."""

    def __init__(self, stage: Stage, address: str, port: int) -> None:
        self._stage = stage
        self._address = address
        self._port = port
        self._alive = True
        app = web.Application()
        app.add_routes(
            [web.get("/livez", self._livez), web.get("/readyz", self._readyz), web.get("/metrics", self._metrics)]
        )
        if isinstance(stage, Explains):
            app.add_routes([web.get("/explain", partial(_explain, stage))])
        if isinstance(stage, ListsHosts):
            app.add_routes([web.get("/hosts", partial(_hosts, stage))])
        self._runner = web.AppRunner(app, access_log=None)

    async def start(self) -> str:
        """Serve; returns the URL."""
        await self._runner.setup()
        await web.TCPSite(self._runner, self._address, self._port).start()
        host, port = self._runner.addresses[0][:2]
        return f"http://{reachable(host)}:{port}"

    async def stop(self) -> None:
        """Stop serving."""
        await self._runner.cleanup()

    def set_alive(self, alive: bool) -> None:
        """What ``/livez`` answers from now on."""
        self._alive = alive

    async def _livez(self, _request: web.Request) -> web.Response:
        if self._alive:
            return web.Response(text="alive\n")
        return web.Response(status=503, text=f"work waits and nothing was finished for {STALL.total_seconds():.0f} s\n")

    async def _readyz(self, _request: web.Request) -> web.Response:
        if self._stage.ready():
            return web.Response(text="ready\n")
        return web.Response(status=503, text="no partitions are assigned yet\n")

    async def _metrics(self, _request: web.Request) -> web.Response:
        return web.Response(body=generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})


def reachable(address: str) -> str:
    """How others name the address that a server is bound to: one that means every interface is this machine's own."""
    if ip_address(address).is_unspecified:
        with suppress(OSError):
            address = socket.gethostbyname(socket.gethostname())
    return f"[{address}]" if ":" in address else address


async def _hosts(stage: ListsHosts, request: web.Request) -> web.Response:
    try:
        limit = min(max(int(request.query.get("limit", MOST_HOSTS)), 1), MOST_HOSTS)
    except ValueError:
        return web.Response(status=400, text="ask /hosts?search=TEXT&limit=N\n")
    return web.json_response(list(await stage.hosts(request.query.get("search", ""), limit)))


async def _explain(stage: Explains, request: web.Request) -> web.Response:
    try:
        about = int(request.query["partition"]), request.query["crawl"], canonicalize(request.query["url"]).href
    except (KeyError, ValueError) as error:
        return web.Response(status=400, text=f"ask /explain?partition=N&crawl=NAME&url=URL: {error}\n")
    found = await stage.explain(*about)
    if found is None:
        return web.Response(status=404, text="the partition is another worker's\n")
    return web.json_response(found)


def ask(worker_url: str, partition: int, crawl: str, url: str) -> Mapping[str, object] | None:
    """What a worker knows of a URL; ``None`` when the partition is not its own.

    Raises :class:`OSError` when it cannot be asked.
    """
    query = urlencode({"partition": partition, "crawl": crawl, "url": url})
    try:
        with urlopen(f"{worker_url}/explain?{query}", timeout=ASK_WITHIN.total_seconds()) as answer:  # noqa: S310  # ours
            found: Mapping[str, object] = json.load(answer)
            return found
    except HTTPError as error:
        if error.code == HTTPStatus.NOT_FOUND:
            return None
        raise
