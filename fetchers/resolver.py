"""From names to addresses: a fixed table first, then the system's resolver in threads of its own."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

from infra.settings import FetcherSettings

_NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
_NEGATIVE_CACHE_SIZE = 1_000

Lookup = Callable[[str, int, int], list[tuple[Any, ...]]]
"""``(name, port, family)`` to what :func:`socket.getaddrinfo` returns."""


@dataclass(slots=True)
class Dial:
    """What happened below one request; filled in by whoever does it. Durations in seconds."""

    dns_s: float | None = None
    connect_s: float | None = None
    tried: list[str] = field(default_factory=list)
    blocked: list[str] = field(default_factory=list)
    remote_address: str | None = None


DIAL: ContextVar[Dial] = ContextVar("dial")
"""Of the request that the current task makes."""


def system_lookup(name: str, port: int, family: int) -> list[tuple[Any, ...]]:
    """Ask the system, for TCP."""
    return socket.getaddrinfo(name, port, family=family, type=socket.SOCK_STREAM)


class Resolver(AbstractResolver):
    """Bounded in threads, time and memory. aiohttp caches what it answers; failures are remembered here."""

    def __init__(self, settings: FetcherSettings, lookup: Lookup = system_lookup) -> None:
        self._fixed = settings.resolve
        self._timeout_s = settings.dns_timeout.total_seconds()
        self._negative_s = settings.dns_negative_cache.total_seconds()
        self._lookup = lookup
        self._slots = asyncio.Semaphore(settings.dns_lookups)
        self._failures: dict[str, tuple[float, OSError]] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Addresses of ``host``. Raises :class:`OSError` (``gaierror``), also when there is no answer in time."""
        address = fixed_address(self._fixed, host)
        if address is not None:
            return [_result(host, address, port)]
        self._raise_known_failure(host)
        began_s = time.monotonic()
        try:
            async with asyncio.timeout(self._timeout_s):
                found = await self._ask(host, port, family)
        except TimeoutError:
            raise self._remember(host, socket.gaierror(socket.EAI_AGAIN, "no answer in time")) from None
        except OSError as error:
            raise self._remember(host, error) from None
        if (dial := DIAL.get(None)) is not None:
            dial.dns_s = time.monotonic() - began_s
        return [_result(host, str(info[4][0]), port) for info in found]

    async def close(self) -> None:
        """Nothing is held."""

    async def _ask(self, host: str, port: int, family: int) -> list[tuple[Any, ...]]:
        """One lookup in a thread of its own. The slot is free when the thread has ended, not when we stop waiting.

        Daemon threads, because a resolver that hangs would hold back the end of the process.
        """
        await self._slots.acquire()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[tuple[Any, ...]]] = loop.create_future()

        def end(found: list[tuple[Any, ...]] | None, error: Exception | None) -> None:
            self._slots.release()
            if answer.done():
                return
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(found or [])

        def work() -> None:
            found: list[tuple[Any, ...]] | None = None
            failure: Exception | None = None
            try:
                found = self._lookup(host, port, family)
            except Exception as error:
                failure = error
            with suppress(RuntimeError):  # the loop is gone: nobody waits for the answer
                loop.call_soon_threadsafe(end, found, failure)

        threading.Thread(target=work, name="dns", daemon=True).start()
        return await answer

    def _raise_known_failure(self, host: str) -> None:
        known = self._failures.get(host)
        if known is None:
            return
        until_s, error = known
        if time.monotonic() < until_s:
            raise error
        del self._failures[host]

    def _remember(self, host: str, error: OSError) -> OSError:
        if len(self._failures) >= _NEGATIVE_CACHE_SIZE:
            del self._failures[next(iter(self._failures))]
        self._failures[host] = time.monotonic() + self._negative_s, error
        return error


def fixed_address(table: Mapping[str, str], name: str) -> str | None:
    """The address of ``name`` in a table of exact names and ``*.suffix`` patterns; the longest pattern wins."""
    if not table:
        return None
    if name in table:
        return table[name]
    rest = name
    while rest:
        _, _, rest = rest.partition(".")
        if rest and (address := table.get(f"*.{rest}")) is not None:
            return address
    return None


def _result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=_NUMERIC)
