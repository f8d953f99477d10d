"""What a store has to do to be a sink, and the blocks that it is given."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from infra.kafka.topics import TopicName
from infra.telemetry.tracing import Trace
from sinks.keys import Content, fingerprint


class Entry(NamedTuple):
    """One decoded record of a block, and where it stood."""

    offset: int
    record: Content
    trace: Trace | None


class Block(NamedTuple):
    """A run of records of one partition, in the order of their offsets, each offset once."""

    topic: TopicName
    partition: int
    entries: tuple[Entry, ...]

    @property
    def token(self) -> str:
        """Names the block by its place and its records: ``TOPIC/PARTITION/FIRST-LAST/FINGERPRINT``.

        The place alone would not do: a topic that was made anew, or that of another cluster, has other records at the
        same offsets, and a store that knows the token would drop them.
        """
        if not self.entries:
            return f"{self.topic}/{self.partition}/empty"
        place = f"{self.topic}/{self.partition}/{self.entries[0].offset}-{self.entries[-1].offset}"
        return f"{place}/{fingerprint(entry.record for entry in self.entries)}"


class Sink(Protocol):
    """A store. All its methods are called from one event loop; :meth:`write` may run for several topics at once."""

    async def open(self) -> Mapping[str, int]:
        """Connect and prepare the store; repeatable. Returns the rows it holds by table, where that is cheap to tell.

        Raises :class:`infra.errors.RetryLater` while the store cannot be reached, :class:`infra.errors.UserError` for
        what the user has to mend. No message of an error holds a secret of the DSN.
        """
        ...

    async def write(self, topic: TopicName, blocks: Sequence[Block]) -> None:
        """Store every record of ``blocks``, at most one of each partition; all are stored when it returns.

        A repeat of the same blocks, or of others that overlap them, leaves one row for each record. Nothing to write
        is no error and no request. Raises :class:`infra.errors.RetryLater` when the store is in trouble (the same
        blocks come again), :class:`infra.errors.NeverValid` when at least one record can never be stored (then smaller
        blocks come). What was stored before it raised may stay: the repeat folds.
        """
        ...

    async def close(self) -> None:
        """Let go of the store, whether it is open or not; nothing is written after it."""
        ...
