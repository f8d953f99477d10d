"""HTTP around the table of endpoints, and the page's files."""

import json
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.resources import files

from aiohttp import web
from pydantic import ValidationError

from infra.errors import Failure, UserError
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.monitor import RequestRefused
from monitor.api.answers import Trouble
from monitor.api.desk import Desk
from monitor.api.endpoints import ENDPOINTS, Endpoint
from monitor.api.guard import Asked, Policy, Why, refusal
from monitor.api.openapi import document

MAX_QUESTION_BYTES = 256 * 1024
OPENAPI = "/api/openapi.json"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_SAID: dict[Why, tuple[int, str]] = {
    "host": (403, "this name is not one of the monitor's: add it to monitor.hosts_allowed"),
    "origin": (403, "pages of other sites may not ask here"),
    "token": (401, "show the token: Authorization: Bearer TOKEN"),
    "content_type": (400, "what changes something is sent as application/json"),
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """The page and the API of one monitor."""

    def __init__(self, desk: Desk, policy: Policy) -> None:
        self._policy = policy
        self._changing = {(each.method, each.path) for each in ENDPOINTS if each.changes}

        @web.middleware
        async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await self._guarded(request, handler)

        app = web.Application(client_max_size=MAX_QUESTION_BYTES, middlewares=[guarded])
        app.add_routes([web.route(each.method, each.path, partial(_answer, desk, each)) for each in ENDPOINTS])
        app.add_routes([web.get(OPENAPI, _described), web.get("/{file:.*}", _file)])
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=2)

    async def start(self, address: str, port: int) -> str:
        """Serve; returns the URL."""
        await self._runner.setup()
        await web.TCPSite(self._runner, address, port).start()
        host, port = self._runner.addresses[0][:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    async def stop(self) -> None:
        """Stop serving."""
        await self._runner.cleanup()

    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        asked = Asked(
            changes=(request.method, request.path) in self._changing,
            host=request.host,
            origin=request.headers.get("Origin"),
            authorization=request.headers.get("Authorization"),
            content_type=request.content_type,
            has_data=request.path.startswith("/api/"),
        )
        why = refusal(asked, self._policy)
        if why is None:
            try:
                answer = await handler(request)
            except web.HTTPException as error:
                answer = _trouble(error.status, error.reason)
        else:
            emit(RequestRefused(why, request.method, request.path, request.remote or ""))
            answer = _trouble(*_SAID[why])
        answer.headers.update(HEADERS)
        return answer


def _trouble(status: int, error: str) -> web.Response:
    return web.Response(status=status, body=Trouble(error=error).model_dump_json(), content_type="application/json")


async def _answer(desk: Desk, endpoint: Endpoint, request: web.Request) -> web.Response:
    try:
        if endpoint.changes:
            question = endpoint.asks.model_validate_json(await request.read())
        else:
            question = endpoint.asks.model_validate(dict(request.query))
        answer = await endpoint.run(desk, question)
    except ValidationError as error:
        lines = (f"{'.'.join(map(str, each['loc'])) or 'body'}: {each['msg']}" for each in error.errors())
        return _trouble(400, "; ".join(lines))
    except UserError as error:
        return _trouble(400, str(error))
    except Failure as error:
        return _trouble(503, str(error))
    return web.Response(body=answer.model_dump_json(), content_type="application/json")


async def _described(_request: web.Request) -> web.Response:
    return web.Response(body=json.dumps(document()), content_type="application/json")


async def _file(request: web.Request) -> web.Response:
    """One of the page's files, by its exact name; no name of a request ever becomes a path."""
    name = request.match_info["file"] or "index.html"
    found = {each.name: each for each in files("monitor.page").iterdir()}.get(name)
    kind = TYPES.get(f".{name.rpartition('.')[2]}")
    if found is None or kind is None:
        raise web.HTTPNotFound
    return web.Response(body=found.read_bytes(), headers={"Content-Type": kind})
