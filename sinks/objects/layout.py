"""What objects are called: from the name alone one knows which offsets an object holds. Pure.

``TABLE/partition=P/WINDOW/FIRST-LAST-FINGERPRINT.SUFFIX``, all numbers of offsets with 20 digits, so that names sort. A
window is a hundred thousand offsets of one partition, no object spans two, and so whoever writes an object has to list
one folder of bounded size to know what is there already.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from sinks.sink import Block
from sinks.tables import Table

WINDOW = 100_000


class Span(NamedTuple):
    """The offsets of an object, from first to last."""

    first: int
    last: int

    def overlaps(self, other: "Span") -> bool:
        """Whether any offset is in both."""
        return self.first <= other.last and other.first <= self.last


def windows(block: Block) -> Iterator[Block]:
    """The block in parts of one window each."""
    for _, entries in groupby(block.entries, key=lambda entry: entry.offset // WINDOW):
        yield block._replace(entries=tuple(entries))


def span(block: Block) -> Span:
    """Of a block that is not empty."""
    return Span(block.entries[0].offset, block.entries[-1].offset)


def folder(table: Table, block: Block) -> str:
    """Where the objects of the block's window are."""
    window = block.entries[0].offset // WINDOW * WINDOW
    return f"{table.name}/partition={block.partition}/{window:020}"


def name(table: Table, block: Block, suffix: str) -> str:
    """The object of the block: another name for any other records, also where they stand at the same offsets."""
    first, last = span(block)
    return f"{folder(table, block)}/{first:020}-{last:020}-{block.token.rpartition('/')[2]}.{suffix}"


def span_of(path: str, suffix: str) -> Span | None:
    """The offsets of an object by its name; ``None`` for what is not ours."""
    stem, dot, end = path.rpartition("/")[2].partition(".")
    parts = stem.split("-")
    if not dot or end != suffix or len(parts) != 3 or not all(part.isdecimal() for part in parts[:2]):
        return None
    return Span(int(parts[0]), int(parts[1]))
