"""Questions of other threads, answered by the one that owns the stores."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

from frontier.busy import busiest
from frontier.explain import explain
from frontier.owned import Owned

Answer = Callable[[Mapping[int, Owned], float], Any]
"""From what is owned, by partition, and the time now."""


class Questions:
    """A short queue: people ask, not programs."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[tuple[Answer, Future[Any]]] = SimpleQueue()

    async def explain(self, partition: int, crawl: str, url: str) -> Mapping[str, object] | None:
        """See :func:`frontier.explain.explain`; ``None`` when the partition is not owned here."""

        def answer(owned: Mapping[int, Owned], now_s: float) -> Mapping[str, object] | None:
            return explain(owned[partition].partition, crawl, url, now_s) if partition in owned else None

        found: Mapping[str, object] | None = await self._ask(answer)
        return found

    async def hosts(self, search: str, limit: int) -> Sequence[Mapping[str, object]]:
        """See :func:`frontier.busy.busiest`; over all that is owned here."""

        def answer(owned: Mapping[int, Owned], now_s: float) -> Sequence[Mapping[str, object]]:
            return busiest([each.partition for each in owned.values()], search, limit, now_s)

        found: Sequence[Mapping[str, object]] = await self._ask(answer)
        return found

    async def _ask(self, how: Answer) -> Any:
        future: Future[Any] = Future()
        self._asked.put((how, future))
        return await asyncio.wrap_future(future)

    def answer(self, owned: Mapping[int, Owned], now_s: float) -> None:
        """Answer what was asked."""
        while not self._asked.empty():
            how, future = self._asked.get()
            # Who asked may have gone away.
            if future.set_running_or_notify_cancel():
                future.set_result(how(owned, now_s))
