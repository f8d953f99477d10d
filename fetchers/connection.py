"""One open connection: it serves one exchange at a time, within its time and rate."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, cast

from fetchers.answers import Answer
from fetchers.faults import Disconnected

_MAX_EARLY_BYTES = 64 * 1024


class Patience(NamedTuple):
    """How long an exchange may take. Times are monotonic."""

    head_s: float
    """When the header has to be there."""
    total_s: float
    min_rate_bytes_s: int
    grace_s: float
    """How long the rate of the body is not looked at."""

    def late_s(self, answer: Answer) -> float:
        """When what has come so far is too little: a body that was fast so far earns more time."""
        if answer.head is None:
            return self.head_s
        earned_s = max(self.grace_s, len(answer.body) / self.min_rate_bytes_s)
        return min(self.total_s, answer.first_s + earned_s)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a connection once it is open."""

    address: str | None = None
    tls: str | None = None
    """Version and cipher suite."""
    proxy: str | None = None
    """Name of the proxy it goes through."""


class Connection(asyncio.Protocol):
    """Made by a dialler. Kept for another exchange while it is :attr:`usable`."""

    __slots__ = (
        "_answer",
        "_early",
        "_loop",
        "_timer",
        "_transport",
        "_waiter",
        "facts",
        "on_closed",
        "on_lost",
        "served",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._answer: Answer | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._early = b""
        self.facts = Facts()
        self.served = 0
        self.on_lost: Callable[[Connection], None] | None = None
        """For whoever keeps it while it rests."""
        self.on_closed: Callable[[], None] | None = None
        """For whoever counts it."""

    @property
    def usable(self) -> bool:
        """Whether it is open."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def transport(self) -> asyncio.Transport:
        """What carries the bytes."""
        if self._transport is None:
            raise Disconnected("the connection is closed")
        return self._transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop; again after TLS was laid over it."""
        # uvloop's transports are not subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    async def exchange(self, request: bytes, answer: Answer, patience: Patience) -> None:
        """Send a request and fill in its answer. Raises nothing but when cancelled; closes itself unless kept."""
        early, self._early = self._early, b""
        if early:
            answer.first_s = time.monotonic()
            answer.feed(early)
        transport = self._transport
        if transport is None or transport.is_closing() or answer.done:
            answer.end(None)
            self.close()
            return
        self._answer = answer
        self._waiter = self._loop.create_future()
        self._watch(patience)
        self.served += 1
        transport.write(request)
        try:
            await self._waiter
        finally:
            self._answer = self._waiter = None
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if not (answer.done and answer.keep):
                self.close()

    def close(self) -> None:
        """Close at once: nothing of ours is left to be sent."""
        if self._transport is not None:
            self._transport.abort()

    def _watch(self, patience: Patience) -> None:
        """Look at the clock when time is up, instead of at each byte."""
        answer = self._answer
        if answer is None:
            return
        left_s = patience.late_s(answer) - time.monotonic()
        if left_s > 0:
            self._timer = self._loop.call_later(left_s, self._watch, patience)
            return
        self._timer = None
        answer.expire()
        self._wake()

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        answer = self._answer
        if answer is None:
            self._early += data
            # On a new connection some answer before they are asked. On a kept one it would pass for the next answer.
            if self.served or len(self._early) > _MAX_EARLY_BYTES:
                self.close()
            return
        if not answer.first_s:
            answer.first_s = time.monotonic()
        answer.feed(data)
        if answer.done:
            self._wake()

    def eof_received(self) -> bool:
        """The server has said all it wants to say."""
        self._end(None)
        return False

    def connection_lost(self, exc: BaseException | None) -> None:
        """Closed, by whomever."""
        self._transport = None
        self._end(exc)
        if self.on_lost is not None:
            self.on_lost(self)
        if self.on_closed is not None:
            self.on_closed()

    def _end(self, why: BaseException | None) -> None:
        if self._answer is not None:
            self._answer.end(why)
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
