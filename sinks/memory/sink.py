"""The sink that keeps its rows in memory."""

from collections import Counter
from collections.abc import Mapping, Sequence

from infra.errors import NeverValid
from infra.kafka.topics import TopicName
from infra.settings import Settings
from sinks.keys import Content, row_key
from sinks.sink import Block
from sinks.tables import TABLES


class MemorySink:
    """Rows by topic and key. ``failures`` are raised by the next writes, one each, before anything is stored."""

    def __init__(self, settings: Settings, dsn: str) -> None:
        del settings, dsn
        self.rows: dict[TopicName, dict[tuple[str, ...], Content]] = {}
        self.failures: list[Exception] = []
        self.writes: Counter[TopicName] = Counter()

    async def open(self) -> Mapping[str, int]:
        """Nothing to connect to."""
        return {TABLES[topic].name: len(rows) for topic, rows in self.rows.items()}

    async def write(self, topic: TopicName, blocks: Sequence[Block]) -> None:
        """Keep every record; text that no store could encode is refused as a real one would."""
        if not any(block.entries for block in blocks):
            return
        if self.failures:
            raise self.failures.pop(0)
        for block in blocks:
            for entry in block.entries:
                _check_encodable(entry.record)
        table = self.rows.setdefault(topic, {})
        for block in blocks:
            table.update({row_key(entry.record): entry.record for entry in block.entries})
        self.writes[topic] += 1

    async def close(self) -> None:
        """Rows stay readable, as they do in a real store."""


def _check_encodable(record: Content) -> None:
    for name, value in record.__dict__.items():
        if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise NeverValid("unstorable", f"{name}: {error.reason}") from None
