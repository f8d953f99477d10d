"""The sink whose client blocks: what all such stores have in common; a kind is its statements and its errors."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from infra.errors import Failure, UserError
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.sinks import StoreOpened
from sinks.dsn import shown
from sinks.judging import Verdict, open_failure, write_failure
from sinks.sink import Block
from sinks.tables import Table, table_of

T = TypeVar("T")


class BlockingSink(ABC):
    """A :class:`sinks.sink.Sink` of four blocking methods, called in one thread: one after the other, in order.

    A connection that met trouble is not trusted again: the next write makes a new one. Each call has to end within 30
    seconds (better 25: a stage has 30 to drain) by the store's own means, for a thread cannot be cancelled.
    """

    def __init__(self, settings: Settings, dsn: str) -> None:
        self.settings = settings
        self.dsn = dsn
        self._connected = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=type(self).__name__)

    @abstractmethod
    def connect(self) -> Mapping[str, int]:
        """Connect and bring the schema up to date; returns the rows held by table, where that is cheap to tell."""

    @abstractmethod
    def insert(self, table: Table, blocks: Sequence[Block]) -> None:
        """Store every record; durable when it returns. No block is empty."""

    @abstractmethod
    def disconnect(self) -> None:
        """Let go of what :meth:`connect` made, or of the part that it came to make."""

    @abstractmethod
    def judge(self, error: Exception) -> Verdict:
        """What an error of :meth:`connect` or :meth:`insert` says. Pure."""

    async def open(self) -> Mapping[str, int]:
        """See :class:`sinks.sink.Sink`."""
        if self._connected:
            return {}
        held = await self.call(self._open)
        emit(StoreOpened(shown(self.dsn)))
        return held

    async def write(self, topic: TopicName, blocks: Sequence[Block]) -> None:
        """See :class:`sinks.sink.Sink`."""
        filled = [block for block in blocks if block.entries]
        if filled:
            await self.call(lambda: self._write(table_of(topic), filled))

    async def close(self) -> None:
        """See :class:`sinks.sink.Sink`."""
        await self.call(self._let_go)
        self._thread.shutdown(wait=False)

    async def call(self, work: Callable[[], T]) -> T:
        """Do ``work`` in the store's thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _open(self) -> Mapping[str, int]:
        try:
            held = self.connect()
        except Exception as error:
            self._let_go()
            if isinstance(error, (Failure, UserError)):
                raise
            raise open_failure(self.judge(error), error, self.dsn) from None
        self._connected = True
        return held

    def _write(self, table: Table, blocks: Sequence[Block]) -> None:
        try:
            if not self._connected:
                self.connect()
                self._connected = True
            self.insert(table, blocks)
        except Failure:
            raise
        except Exception as error:
            # What the user has to mend is trouble like any other by now: the records are good, so they wait.
            verdict = Verdict.TROUBLE if isinstance(error, UserError) else self.judge(error)
            if verdict is not Verdict.ROW:
                self.lose()
            raise write_failure(verdict, error, self.dsn) from None

    def lose(self) -> None:
        """Forget a connection that met trouble. A store that keeps its client overrides it."""
        self._let_go()

    def _let_go(self) -> None:
        self._connected = False
        # What is broken may not be fit to be closed.
        with suppress(Exception):
            self.disconnect()
