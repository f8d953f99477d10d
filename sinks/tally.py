"""What one store was given: rows by table, and how long it took from the fetch to the row."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from infra.kafka.topics import TopicName
from sinks.latency import Latency
from sinks.sink import Block
from sinks.tables import table_of, times


class Tally:
    """Counts rows of the topics that a store takes; repeats count again."""

    def __init__(self, topics: Sequence[TopicName]) -> None:
        self._rows = Counter({table_of(topic).name: 0 for topic in topics})
        self._latency = Latency()

    def held(self, rows: Mapping[str, int]) -> None:
        """The store held these rows by table when it was opened."""
        self._rows.update(rows)

    def wrote(self, topic: TopicName, blocks: Sequence[Block], now: datetime) -> int:
        """The records of ``blocks`` are rows since ``now``; returns how many they are."""
        table = table_of(topic)
        rows = sum(len(block.entries) for block in blocks)
        self._rows[table.name] += rows
        if topic is TopicName.DOCUMENTS:
            self._latency.observe((each for block in blocks for each in times(table, block.entries)), now)
        return rows

    def counts(self) -> Mapping[str, int]:
        """``rows_TABLE`` and ``fetch_to_row_pNN_ms``."""
        return {f"rows_{name}": rows for name, rows in self._rows.items()} | dict(self._latency.counts())


def together(stores: Sequence[Mapping[str, int]]) -> Mapping[str, int]:
    """The figures of several stores as those of one: the rows that all of those have, the latency of the slowest."""
    names = {name for counts in stores for name in counts}
    worst = {name: (min if name.startswith("rows_") else max) for name in sorted(names)}
    return {name: pick(counts[name] for counts in stores if name in counts) for name, pick in worst.items()}
