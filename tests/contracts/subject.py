"""What a sink under test can be asked by the contract."""

from abc import ABC
from collections.abc import Sequence
from typing import Protocol

from infra.kafka.topics import TopicName
from sinks.blocking import BlockingSink
from sinks.sink import Block, Sink
from sinks.tables import Table


class Subject(Protocol):
    """A sink under test, how to make its next write fail once, and how to read what is in it."""

    sink: Sink

    def fail_once(self, error: Exception) -> None: ...

    def rows(self, topic: TopicName) -> int: ...

    def texts(self) -> list[str]: ...

    def stored(self, text: str) -> str:
        """What a text is in the store, where it cannot be all that it was."""
        ...


class BlockingSubject(ABC):
    """Of a sink whose client blocks."""

    sink: Sink
    blocking: BlockingSink

    def fail_once(self, error: Exception) -> None:
        original = self.blocking.insert

        def failing(table: Table, blocks: Sequence[Block]) -> None:
            self.blocking.insert = original  # type: ignore[method-assign]
            raise error

        self.blocking.insert = failing  # type: ignore[method-assign]

    def stored(self, text: str) -> str:
        return text
