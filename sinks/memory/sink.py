"""The sink that keeps its rows in memory."""

from collections import Counter
from collections.abc import Mapping, Sequence

from infra.kafka.topics import TopicName
from infra.settings import Settings
from sinks.keys import Content, row_key
from sinks.sink import Block
from sinks.tables import TABLES, columns


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
        """Keep the newest of each record; what no store could hold is refused as a real one would."""
        if not any(block.entries for block in blocks):
            return
        if self.failures:
            raise self.failures.pop(0)
        table = TABLES[topic]
        versions = iter(columns(table, blocks)[table.version])
        rows = self.rows.setdefault(topic, {})
        for block in blocks:
            for entry in block.entries:
                before = rows.setdefault(row_key(entry.record), entry.record)
                if next(versions) > getattr(before, table.version):
                    rows[row_key(entry.record)] = entry.record
        self.writes[topic] += 1

    async def close(self) -> None:
        """Rows stay readable, as they do in a real store."""
