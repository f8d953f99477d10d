"""A schema registry in memory, for tests and for trying things: the part of Confluent's REST interface that matters.

It numbers schemas, knows which stand under which subject, and refuses, as ``FULL_TRANSITIVE`` does, what any version of
the subject could not read or be read by.
"""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import avro.errors
import avro.schema
from aiohttp import web
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType

_NOT_FOUND = {"error_code": 40403, "message": "Schema not found"}
_INCOMPATIBLE = {"error_code": 409, "message": "Schema being registered is incompatible with an earlier schema"}
_INVALID = {"error_code": 42201, "message": "Invalid schema"}


class MemoryRegistry:
    """Its schemas are :attr:`schemas`, numbered from 1; :attr:`requests` tells what was asked, in order."""

    def __init__(self) -> None:
        self.schemas: list[str] = []
        self.subjects: dict[str, list[int]] = {}
        self.requests: list[str] = []

    def application(self) -> web.Application:
        """The interface; ``error_code`` and ``message`` say what is wrong, as Confluent's do."""
        made = web.Application()
        made.on_response_prepare.append(self._note)
        made.router.add_get("/schemas/ids/{number:\\d+}", self._schema)
        made.router.add_get("/subjects", self._subjects)
        made.router.add_post("/subjects/{subject}", self._find)
        made.router.add_post("/subjects/{subject}/versions", self._register)
        return made

    async def _note(self, request: web.Request, _response: web.StreamResponse) -> None:
        self.requests.append(f"{request.method} {request.path}")

    async def _schema(self, request: web.Request) -> web.Response:
        number = int(request.match_info["number"])
        if not 1 <= number <= len(self.schemas):
            return web.json_response(_NOT_FOUND, status=404)
        return web.json_response({"schema": self.schemas[number - 1]})

    async def _subjects(self, _request: web.Request) -> web.Response:
        return web.json_response(sorted(self.subjects))

    async def _find(self, request: web.Request) -> web.Response:
        subject, text = request.match_info["subject"], _canonical((await request.json())["schema"])
        for version, number in enumerate(self.subjects.get(subject, ()), 1):
            if self.schemas[number - 1] == text:
                return web.json_response({"subject": subject, "version": version, "id": number, "schema": text})
        return web.json_response(_NOT_FOUND, status=404)

    async def _register(self, request: web.Request) -> web.Response:
        subject, text = request.match_info["subject"], _canonical((await request.json())["schema"])
        try:
            new = avro.schema.parse(text)
        except avro.errors.AvroException:
            return web.json_response(_INVALID, status=422)
        versions = self.subjects.get(subject, [])
        if not all(_compatible(new, avro.schema.parse(self.schemas[number - 1])) for number in versions):
            return web.json_response(_INCOMPATIBLE, status=409)
        if text not in self.schemas:
            self.schemas.append(text)
        number = self.schemas.index(text) + 1
        if number not in versions:
            self.subjects[subject] = [*versions, number]
        return web.json_response({"id": number})


def _canonical(text: str) -> str:
    return json.dumps(json.loads(text))


def _compatible(one: Any, other: Any) -> bool:
    for reader, writer in ((one, other), (other, one)):
        checker: Any = ReaderWriterCompatibilityChecker()  # type: ignore[no-untyped-call]  # avro has no annotation
        if checker.get_compatibility(reader, writer).compatibility is not SchemaCompatibilityType.compatible:
            return False
    return True


@contextmanager
def memory_registry() -> Iterator[tuple[MemoryRegistry, str]]:
    """One that serves on loopback from a thread of its own, and its URL."""
    registry, loop = MemoryRegistry(), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="memory-registry", daemon=True)
    thread.start()
    runner = web.AppRunner(registry.application())
    try:
        asyncio.run_coroutine_threadsafe(runner.setup(), loop).result(10)
        site = web.TCPSite(runner, "127.0.0.1", 0)
        asyncio.run_coroutine_threadsafe(site.start(), loop).result(10)
        yield registry, f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
