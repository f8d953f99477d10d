"""From names to addresses: a fixed table, what is remembered, then DNS; slow names delay no others."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from fetchers.faults import DnsFault, Fault
from infra.settings import FetcherSettings
from schemas.names import of_name
from schemas.url import registrable_domain


class Addresses(NamedTuple):
    """What DNS says of a name."""

    found: tuple[str, ...]
    ttl: timedelta


Lookup = Callable[[str], Awaitable[Addresses]]
"""Asks for a name. Raises :class:`~fetchers.faults.NoSuchHost` or :class:`~fetchers.faults.DnsFault`."""


@dataclass(slots=True)
class _Domain:
    slots: asyncio.Semaphore
    users: int = 0


class Resolver:
    """Bounded in time, in memory, and in questions about one domain at a time; equal questions are asked once."""

    def __init__(self, settings: FetcherSettings, lookup: Lookup) -> None:
        self._fixed = settings.resolve
        self._timeout_s = settings.dns_timeout.total_seconds()
        self._longest_s = settings.dns_cache.total_seconds()
        self._shortest_s = min(settings.dns_cache_shortest.total_seconds(), self._longest_s)
        self._negative_s = settings.dns_negative_cache.total_seconds()
        self._cache_size = settings.dns_cache_size
        self._per_domain = settings.dns_per_domain
        self._lookup = lookup
        self._known: OrderedDict[str, tuple[float, tuple[str, ...] | Fault]] = OrderedDict()
        self._asked: dict[str, asyncio.Task[tuple[str, ...]]] = {}
        self._domains: dict[str, _Domain] = {}
        self.hits = self.misses = self.failures = 0

    async def resolve(self, name: str) -> tuple[str, ...]:
        """The addresses of ``name``, at least one. Raises a :class:`Fault`, also when there is no answer in time."""
        address = of_name(self._fixed, name)
        if address is not None:
            return (address,)
        known = self._known.get(name)
        if known is not None and time.monotonic() < known[0]:
            self.hits += 1
            self._known.move_to_end(name)
            if isinstance(known[1], Fault):
                raise type(known[1])(*known[1].args)
            return known[1]
        task = self._asked.get(name)
        if task is None:
            self.misses += 1
            task = self._asked[name] = asyncio.get_running_loop().create_task(self._ask(name))
            task.add_done_callback(lambda done: self._on_answer(name, done))
        # Others wait for the same answer: whoever gives up must not take it from them.
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Ask no more."""
        for task in list(self._asked.values()):
            task.cancel()
        await asyncio.gather(*self._asked.values(), return_exceptions=True)

    def _on_answer(self, name: str, task: asyncio.Task[tuple[str, ...]]) -> None:
        self._asked.pop(name, None)
        if not task.cancelled() and task.exception() is not None:
            self.failures += 1

    async def _ask(self, name: str) -> tuple[str, ...]:
        label = registrable_domain(name)
        domain = self._domains.setdefault(label, _Domain(asyncio.Semaphore(self._per_domain)))
        domain.users += 1
        try:
            async with asyncio.timeout(self._timeout_s), domain.slots:
                answer = await self._lookup(name)
        except TimeoutError:
            self._remember(name, self._negative_s, DnsFault("no answer in time"))
            raise DnsFault("no answer in time") from None
        except Fault as error:
            self._remember(name, self._negative_s, type(error)(*error.args))
            raise
        finally:
            domain.users -= 1
            if not domain.users:
                del self._domains[label]
        self._remember(name, min(max(answer.ttl.total_seconds(), self._shortest_s), self._longest_s), answer.found)
        return answer.found

    def _remember(self, name: str, for_s: float, what: tuple[str, ...] | Fault) -> None:
        if for_s <= 0:
            return
        self._known[name] = time.monotonic() + for_s, what
        self._known.move_to_end(name)
        if len(self._known) > self._cache_size:
            self._known.popitem(last=False)
