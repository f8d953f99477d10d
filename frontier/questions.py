"""Questions about URLs: asked by any thread, answered by the one that owns the stores."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from queue import SimpleQueue
from typing import NamedTuple

from frontier.explain import explain
from frontier.owned import Owned

Answer = Mapping[str, object]


class _Question(NamedTuple):
    partition: int
    crawl: str
    url: str
    answer: "Future[Answer | None]"


class Questions:
    """A short queue: people ask, not programs."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[_Question] = SimpleQueue()

    async def ask(self, partition: int, crawl: str, url: str) -> Answer | None:
        """See :func:`frontier.explain.explain`; ``None`` when the partition is not owned here."""
        question = _Question(partition, crawl, url, Future())
        self._asked.put(question)
        return await asyncio.wrap_future(question.answer)

    def answer(self, owned: Mapping[int, Owned], now_s: float) -> None:
        """Answer what was asked."""
        while not self._asked.empty():
            partition, crawl, url, answer = self._asked.get()
            # Who asked may have gone away.
            if answer.set_running_or_notify_cancel():
                found = owned.get(partition)
                answer.set_result(None if found is None else explain(found.partition, crawl, url, now_s))
