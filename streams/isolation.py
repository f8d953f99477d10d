"""Costly pages, and those that others' rules or code read, are cleaned in a process of their own that can be killed.

One page may fail, the worker goes on. The process is started for the first such page (a fresh interpreter, never a
fork: the worker has threads). Rules go in where they changed, then a page, and a document comes out as the Avro that
Kafka would carry, each behind its length. A page that takes too long, too much memory, or the process with it, is
cleaned again by patterns alone, here, and marked ``cleaner_died``. When the worker dies, the process reads the end of
its input and ends too.
"""

import asyncio
import json
import resource
import struct
import sys
from asyncio import subprocess
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import BinaryIO

from schemas.records import Document, Page
from schemas.url import split
from schemas.wire import decode, encode
from streams.clean import Cleaned, finish
from streams.cleaners import installed
from streams.opened import Opened, Way, open_page
from streams.rules.compiled import NO_RULES, Rules
from streams.rules.model import RuleSet
from streams.sites import Sites

_LENGTH = struct.Struct(">I")
_MOST_ANSWER_BYTES = 64 * 2**20
_BROKEN = (TimeoutError, OSError, EOFError, ValueError, asyncio.IncompleteReadError)


class Isolation:
    """Cleans one page at a time in a process that it may kill."""

    def __init__(self, timeout: timedelta, memory_mib: int) -> None:
        self._timeout_s = timeout.total_seconds()
        self._memory_mib = memory_mib
        self._process: subprocess.Process | None = None
        self._rules: Rules = NO_RULES
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """Of the process, while there is one."""
        return self._process.pid if self._process else None

    async def clean(self, opened: Opened, way: Way, now: datetime) -> Cleaned:
        """The document of the page, whatever becomes of the process."""
        async with self._turn:
            try:
                async with asyncio.timeout(self._timeout_s):
                    return await self._ask(opened.page, way, now)
            except _BROKEN:
                await self.close()
        cleaned = finish(opened, way._replace(parse=False), now)
        cleaned.document.flags.append("cleaner_died")
        return cleaned

    async def _ask(self, page: Page, way: Way, now: datetime) -> Cleaned:
        process = await self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        order: dict[str, object] = {"robots_token": way.robots_token, "obey": way.obey, "markdown": way.markdown}
        order["now"] = now.isoformat()
        if way.sites.rules is not self._rules:
            self._rules = way.sites.rules
            order["rules"] = self._rules.given.model_dump(mode="json")
        for part in (json.dumps(order).encode(), encode(page)):
            process.stdin.write(_LENGTH.pack(len(part)) + part)
        await process.stdin.drain()
        document = decode(Document, await _read(process.stdout))
        return Cleaned(document, [split(href) for href in json.loads(await _read(process.stdout))])

    async def _running(self) -> subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            command = (sys.executable, "-m", "streams.isolation", str(self._memory_mib))
            # In a session of its own: a Ctrl-C in the terminal is for the worker, which still has pages to finish.
            self._rules = NO_RULES
            self._process = await asyncio.create_subprocess_exec(
                *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
        return self._process

    async def close(self) -> None:
        """Kill the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _read(stream: asyncio.StreamReader) -> bytes:
    (length,) = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
    if length > _MOST_ANSWER_BYTES:
        raise ValueError(f"an answer of {length} bytes")
    return await stream.readexactly(length)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Clean what comes in until the input ends. The other side's process runs this."""
    sites = Sites(cleaners=installed())
    while (order := _take(requests)) is not None and (page := _take(requests)) is not None:
        wanted: Mapping[str, object] = json.loads(order)
        if "rules" in wanted:
            sites = sites._replace(rules=Rules(RuleSet.model_validate(wanted["rules"])))
        way = Way(str(wanted["robots_token"]), bool(wanted["obey"]), markdown=bool(wanted["markdown"]), sites=sites)
        cleaned = finish(open_page(decode(Page, page)), way, datetime.fromisoformat(str(wanted["now"])))
        follow = json.dumps([url.href for url in cleaned.follow]).encode()
        answers.writelines(_LENGTH.pack(len(part)) + part for part in (encode(cleaned.document), follow))
        answers.flush()


def _take(requests: BinaryIO) -> bytes | None:
    head = requests.read(_LENGTH.size)
    return requests.read(_LENGTH.unpack(head)[0]) if len(head) == _LENGTH.size else None


if __name__ == "__main__":
    limit = int(sys.argv[1]) * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    serve(sys.stdin.buffer, sys.stdout.buffer)
