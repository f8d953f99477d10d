"""One host, one request at a time: a second line behind the frontier's own rule, and the memory after a handover."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

_PRUNE_ABOVE = 10_000


@dataclass(slots=True)
class Host:
    """One host as far as this process knows it."""

    slots: asyncio.Semaphore
    users: int = 0
    next_s: float = field(default=0.0)
    """Monotonic time before which no request may start."""

    def keep_apart(self, seen_s: float, delay: timedelta) -> None:
        """The host saw a request at monotonic time ``seen_s`` at the latest: the next starts a delay later."""
        self.next_s = max(self.next_s, seen_s + delay.total_seconds())


class HostTurns:
    """Turns of hosts. Requests start at least their delay apart, as far as this process has seen the host."""

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self._hosts: dict[str, Host] = {}
        self._prune_above = _PRUNE_ABOVE

    @asynccontextmanager
    async def turn(self, name: str, delay: timedelta, not_before_s: float) -> AsyncIterator[Host]:
        """Wait for the turn of host ``name``, until monotonic time ``not_before_s`` at the least, and hold it."""
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = Host(asyncio.Semaphore(self._concurrency))
        host.users += 1
        try:
            async with host.slots:
                # A timer may fire a moment early, and early is what must not happen.
                while (wait_s := max(host.next_s, not_before_s) - time.monotonic()) > 0:  # noqa: ASYNC110  # time is what it waits for
                    await asyncio.sleep(wait_s)
                host.keep_apart(time.monotonic(), delay)
                yield host
        finally:
            host.users -= 1
            self._prune()

    def _prune(self) -> None:
        """Forget hosts whose delay has passed, once there are many: memory follows the recent past alone."""
        if len(self._hosts) > self._prune_above:
            now_s = time.monotonic()
            self._hosts = {name: host for name, host in self._hosts.items() if host.users or host.next_s > now_s}
            # Doubling keeps the cost of looking through all of them constant for each request.
            self._prune_above = max(_PRUNE_ABOVE, 2 * len(self._hosts))
