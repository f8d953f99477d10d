"""Health of a stage: alive by progress, ready by assignment. Served with the metrics on a port of its own."""

from dataclasses import dataclass
from datetime import timedelta

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from infra.stage import Stage

STALL = timedelta(seconds=60)


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
    """``/livez``, ``/readyz`` and ``/metrics``: read-only."""

    def __init__(self, stage: Stage, address: str, port: int) -> None:
        self._stage = stage
        self._address = address
        self._port = port
        self._alive = True
        app = web.Application()
        app.add_routes(
            [web.get("/livez", self._livez), web.get("/readyz", self._readyz), web.get("/metrics", self._metrics)]
        )
        self._runner = web.AppRunner(app, access_log=None)

    async def start(self) -> str:
        """Serve; returns the URL."""
        await self._runner.setup()
        await web.TCPSite(self._runner, self._address, self._port).start()
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}"

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
