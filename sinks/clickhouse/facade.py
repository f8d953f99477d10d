"""ClickHouse's HTTP interface for the embedded engine, on loopback and for reading.

Enough of it (ClickHouse documentation, "HTTP interface") for clickhouse-connect, curl and tools that speak the same:
SQL in the body or in ``query``, ``database``, ``default_format``, ``param_NAME``, settings as further parameters, the
error's code in ``X-ClickHouse-Exception-Code``. Sessions, compression and progress are accepted and ignored.
"""

import asyncio
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from aiohttp import web

from infra.settings import Settings
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.sinks import DoorOpened
from sinks.clickhouse import endpoint, statements
from sinks.clickhouse.embedded import Query, run
from sinks.clickhouse.errors import code_of

# What the HTTP transport itself takes, and what a client sets for it: nothing of it concerns the engine.
IGNORED = frozenset(
    {
        "query_id",
        "session_id",
        "session_timeout",
        "session_check",
        "quota_key",
        "role",
        "buffer_size",
        "wait_end_of_query",
        "compress",
        "decompress",
        "enable_http_compression",
        "client_protocol_version",
        "send_progress_in_http_headers",
        "http_headers_progress_interval_ms",
        "cancel_http_readonly_queries_on_client_close",
        "user",
        "password",
    }
)
TYPES = {
    "JSON": "application/json; charset=UTF-8",
    "JSONCompact": "application/json; charset=UTF-8",
    "JSONEachRow": "application/x-ndjson; charset=UTF-8",
    "CSV": "text/csv; charset=UTF-8; header=absent",
    "CSVWithNames": "text/csv; charset=UTF-8; header=present",
    "TabSeparated": "text/tab-separated-values; charset=UTF-8",
    "TabSeparatedWithNames": "text/tab-separated-values; charset=UTF-8",
}
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_READONLY = 164
_SYNTAX = 62
# ClickHouse, src/Server/HTTPHandler.cpp, exceptionCodeToHTTPStatus.
_STATUS = {60: 404, 81: 404, 164: 403, 497: 403, 241: 503, 159: 408, 394: 499}
_SERVER_FAULTS = frozenset({49, 76, 107, 210, 243, 999, 1001, 1002})
_MAX_SQL_BYTES = 64 * 2**20
# As clickhouse-connect sends its inserts: the statement in the URL, the rows in the body.
_INSERT = re.compile(r"INSERT INTO .+ FORMAT \w+")


class Facade:
    """The door. One engine, a few threads; a query holds up no insert and no other query."""

    def __init__(self, directory: Path, settings: Settings) -> None:
        self._directory = directory
        self._options = settings.sinks.clickhouse
        self._threads = ThreadPoolExecutor(self._options.concurrent_queries, thread_name_prefix="clickhouse-reader")
        app = web.Application(client_max_size=_MAX_SQL_BYTES)
        app.add_routes([web.get("/ping", self._ping), web.get("/", self._query), web.post("/", self._query)])
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=2)

    async def start(self) -> str:
        """Serve, and publish where; returns the URL."""
        await self._runner.setup()
        await web.TCPSite(self._runner, self._options.http_address, self._options.http_port).start()
        host, port = self._runner.addresses[0][:2]
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        endpoint.publish(self._directory, url)
        emit(DoorOpened(url))
        return url

    async def stop(self) -> None:
        """Stop serving; running queries have been cancelled before."""
        endpoint.withdraw(self._directory)
        await self._runner.cleanup()
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)

    async def _ping(self, _request: web.Request) -> web.Response:
        return web.Response(body=b"Ok.\n")

    async def _query(self, request: web.Request) -> web.Response:
        if not self._from_here(request):
            return _error(_READONLY, "this door is for programs of this machine, not for web pages")
        try:
            query = await self._read(request)
        except ValueError as error:
            return _error(_SYNTAX, str(error))
        if not self._options.http_writable and (why := statements.refusal(query.sql)):
            return _error(_READONLY, why)
        try:
            body = await asyncio.get_running_loop().run_in_executor(self._threads, partial(run, self._directory, query))
        except (RuntimeError, ValueError) as error:
            return _error(code_of(error) or _SYNTAX, str(error).strip())
        shape = statements.format_of(query.sql) or query.output
        return web.Response(body=body, headers=_headers(shape, request.query.get("query_id", "")))

    def _from_here(self, request: web.Request) -> bool:
        """Whether no foreign web page sends this: pages name their origin, and a rebound name is in ``Host``."""
        if self._options.http_address not in _LOOPBACK:
            return True
        host = urlsplit(f"//{request.host}").hostname
        return host in _LOOPBACK and "Origin" not in request.headers and "Sec-Fetch-Site" not in request.headers

    async def _read(self, request: web.Request) -> Query:
        given = dict(request.query)
        body = b""
        # curl -d calls SQL a form; ClickHouse, too, takes only this type for one.
        if request.content_type == "multipart/form-data":
            form = await request.post()
            given |= {name: value for name, value in form.items() if isinstance(value, str)}
        else:
            body = await request.read()
        sql, data = given.pop("query", ""), None
        if body and _INSERT.fullmatch(sql):
            data = body
        else:
            # Where both are given, ClickHouse reads the body as the continuation of the statement.
            sql = "\n".join(part for part in (sql, body.decode()) if part)
        output = request.headers.get("X-ClickHouse-Format") or given.pop("default_format", "") or "TabSeparated"
        given.pop("default_format", None)
        database = given.pop("database", "") or request.headers.get("X-ClickHouse-Database")
        parameters = {name[6:]: value for name, value in given.items() if name.startswith("param_")}
        return Query(sql, output, database, self._settings(given), parameters, self._options.http_writable, data)

    def _settings(self, given: Mapping[str, str]) -> dict[str, str]:
        limits = {
            "max_execution_time": str(int(self._options.query_timeout.total_seconds())),
            "max_memory_usage": str(self._options.query_memory_mib * 2**20),
        }
        asked = {
            statements.setting_name(name): value
            for name, value in given.items()
            if name not in IGNORED and not name.startswith("param_") and name != "readonly"
        }
        return limits | asked


def _headers(shape: str, query_id: str) -> dict[str, str]:
    return {
        "Content-Type": TYPES.get(shape, "application/octet-stream"),
        "X-ClickHouse-Format": shape,
        "X-ClickHouse-Query-Id": query_id.replace("\r", "").replace("\n", ""),
        "X-ClickHouse-Server-Display-Name": "odradek",
        "X-ClickHouse-Timezone": "UTC",
    }


def _error(code: int, message: str) -> web.Response:
    """An error as ClickHouse gives it."""
    text = message if message.startswith("Code:") else f"Code: {code}. DB::Exception: {message}. ({_name(code)})"
    status = _STATUS.get(code, 500 if code in _SERVER_FAULTS else 400)
    return web.Response(
        status=status,
        body=f"{text}\n".encode("utf-8", "replace"),
        headers={"X-ClickHouse-Exception-Code": str(code), "Content-Type": "text/plain; charset=UTF-8"},
    )


def _name(code: int) -> str:
    return {_READONLY: "READONLY", _SYNTAX: "SYNTAX_ERROR"}.get(code, "ERROR")
