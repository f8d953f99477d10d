"""Somebody's server that takes webhooks, in a thread of its own, and keeps what Standard Webhooks tell it to."""

import asyncio
import hmac
import json
import threading
import time
from base64 import b64decode, b64encode
from hashlib import sha256
from typing import Any

from aiohttp import web

from sinks.tables import TABLES

SECRET = "whsec_" + b64encode(b"a secret of twenty-four b").decode()


class Receiver:
    """Verifies each delivery as the specification's own libraries do. ``answers`` are given first, one each."""

    def __init__(self) -> None:
        self.deliveries: list[tuple[str, bytes]] = []
        self.rows: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = {}
        self.answers: list[web.Response] = []
        self.refused = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        application = web.Application(client_max_size=2**26)
        application.router.add_post("/hook", self._take)
        self._runner = web.AppRunner(application)
        self._do(self._runner.setup())
        self._do(web.TCPSite(self._runner, "127.0.0.1", 0).start())
        self.port = self._runner.addresses[0][1]

    def _do(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    @property
    def dsn(self) -> str:
        """As a user writes it."""
        return f"webhook+http://me:pass%20word@127.0.0.1:{self.port}/hook?secret={SECRET.replace('+', '%2B')}&team=7"

    async def _take(self, request: web.Request) -> web.Response:
        body = await request.read()
        name, stamp = request.headers["webhook-id"], request.headers["webhook-timestamp"]
        wanted = hmac.new(b64decode(SECRET[6:]), f"{name}.{stamp}.".encode() + body, sha256).digest()
        signed = request.headers["webhook-signature"].split(",")
        genuine = signed[0] == "v1" and hmac.compare_digest(b64decode(signed[1]), wanted)
        if not genuine or abs(time.time() - int(stamp)) > 300 or request.query["team"] != "7":
            self.refused += 1
            return web.Response(status=401)
        if self.answers:
            return self.answers.pop(0)
        self.deliveries.append((name, body))
        self._keep(json.loads(body))
        return web.Response(status=204)

    def _keep(self, message: dict[str, Any]) -> None:
        table = next(each for each in TABLES.values() if f"odradek.{each.name}" == message["type"])
        rows = self.rows.setdefault(table.name, {})
        for row in message["data"]:
            key = tuple(row[name] for name in table.key)
            if key not in rows or row[table.version] > rows[key][table.version]:
                rows[key] = row

    def forget(self) -> None:
        """As if nobody had ever sent anything."""
        self.deliveries, self.rows, self.answers, self.refused = [], {}, [], 0

    def remove(self) -> None:
        """Stop serving."""
        self._do(self._runner.cleanup())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
