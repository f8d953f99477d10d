"""The two ways to ask for a name: DNS itself, which tells how long an answer holds, and the system's resolver."""

import asyncio
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pycares

from fetchers.faults import DnsFault, NoSuchHost
from fetchers.resolver import Addresses

_NO_SUCH_NAME = frozenset({pycares.errno.ARES_ENOTFOUND, pycares.errno.ARES_ENODATA, pycares.errno.ARES_ENONAME})
_NO_SUCH_HOST = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})
_SYSTEM_TTL = timedelta(seconds=60)


class Dns:
    """Asks the name servers of ``/etc/resolv.conf``, or those that are given, by c-ares in one thread for all names.

    ``/etc/hosts`` and search domains count as they do for the system. A server is an address, with a port if need be.
    """

    def __init__(self, servers: Sequence[str] = (), tries: int = 2, timeout: timedelta = timedelta(seconds=2)) -> None:
        self._channel = pycares.Channel(
            servers=list(servers) or None, tries=tries, timeout=timeout.total_seconds(), rotate=len(servers) > 1
        )

    async def __call__(self, name: str) -> Addresses:
        """Both families at once; the answer holds for its shortest TTL."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[pycares.AddrInfoResult] = loop.create_future()

        def end(found: Any, failure: int | None) -> None:
            if answer.done():
                return
            if failure is None:
                answer.set_result(found)
            elif failure in _NO_SUCH_NAME:
                answer.set_exception(NoSuchHost(f"no such name: {_text(pycares.errno.strerror(failure))}"))
            else:
                answer.set_exception(DnsFault(f"DNS: {_text(pycares.errno.strerror(failure))}"))

        def called(found: Any, failure: int | None) -> None:
            with suppress(RuntimeError):  # the loop is gone: nobody waits for the answer
                loop.call_soon_threadsafe(end, found, failure)

        self._channel.getaddrinfo(name, None, type=socket.SOCK_STREAM, callback=called)
        nodes = (await answer).nodes
        addresses = tuple(dict.fromkeys(_text(node.addr[0]) for node in nodes))
        if not addresses:
            raise NoSuchHost("the name has no address")
        return Addresses(addresses, timedelta(seconds=min(node.ttl for node in nodes)))

    def close(self) -> None:
        """Ask no more."""
        self._channel.close()


def _text(address: str | bytes) -> str:
    return address.decode() if isinstance(address, bytes) else address


class SystemLookup:
    """Asks the system (``getaddrinfo``), at most so many names at a time, each in a daemon thread of its own.

    Daemon threads, because a resolver that hangs would hold back the end of the process.
    """

    def __init__(self, at_a_time: int) -> None:
        self._slots = asyncio.Semaphore(at_a_time)

    async def __call__(self, name: str) -> Addresses:
        """A slot is free when its thread has ended, not when we stop waiting."""
        await self._slots.acquire()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[Any]] = loop.create_future()

        def end(found: list[Any], error: OSError | None) -> None:
            self._slots.release()
            if answer.done():
                return
            if error is None:
                answer.set_result(found)
            else:
                kind = NoSuchHost if error.errno in _NO_SUCH_HOST else DnsFault
                answer.set_exception(kind(f"system resolver: {error.strerror}"))

        def work() -> None:
            found: list[Any] = []
            failure: OSError | None = None
            try:
                found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
            except OSError as error:
                failure = error
            except UnicodeError as error:
                failure = socket.gaierror(socket.EAI_NONAME, str(error))
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(end, found, failure)

        threading.Thread(target=work, name="dns", daemon=True).start()
        return Addresses(tuple(dict.fromkeys(str(info[4][0]) for info in await answer)), _SYSTEM_TTL)
