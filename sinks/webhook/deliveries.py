"""Which requests carry which rows. Pure; the same block, the same deliveries."""

from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

from sinks.json_rows import iso, json_rows
from sinks.sink import Block
from sinks.tables import Table, columns, newest

MOST_ROWS = 500
MOST_BYTES = 2**20
"""Of one delivery; a row that is larger goes alone. Many servers take no more."""


class Delivery(NamedTuple):
    """One request. Whoever gets the same ``id`` twice has got the same rows twice."""

    id: str
    body: bytes


def deliveries(table: Table, block: Block) -> Iterator[Delivery]:
    """The rows of a block, of each key the latest, in requests of bounded size."""
    found = columns(table, [block])
    places = newest(table, found)
    kept = {name: [values[place] for place in places] for name, values in found.items()}
    rows: list[str] = []
    size_bytes = 0
    for number, row in enumerate(json_rows(kept)):
        row_bytes = len(row.encode())
        if rows and (len(rows) == MOST_ROWS or size_bytes + row_bytes > MOST_BYTES):
            yield _delivery(table, block, number - len(rows), rows)
            rows, size_bytes = [], 0
        rows.append(row)
        size_bytes += row_bytes
    yield _delivery(table, block, len(places) - len(rows), rows)


def _delivery(table: Table, block: Block, first: int, rows: list[str]) -> Delivery:
    name = blake2b(f"{block.token}/{first}+{len(rows)}".encode(), digest_size=16).hexdigest()
    newest_record = max(getattr(entry.record, table.version) for entry in block.entries)
    head = f'{{"type":"odradek.{table.name}","timestamp":"{iso(newest_record)}","data":['
    return Delivery(f"msg_{name}", (head + ",".join(rows) + "]}").encode())
