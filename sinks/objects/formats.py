"""How rows stand in an object: Parquet for queries, JSON Lines for the rest. Pure; the same rows, the same bytes."""

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from io import BytesIO
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from infra.errors import UserError
from sinks.arrow import arrow, pairs
from sinks.json_rows import json_rows
from sinks.tables import Key, Table, Type

Columns = Mapping[str, Sequence[Any]]


class Format(Protocol):
    """One way to write rows."""

    suffix: str

    def encode(self, table: Table, found: Columns) -> bytes:
        """The rows of ``found``, the columns of the table in their order."""
        ...

    def versions(self, table: Table, data: bytes) -> dict[Key, datetime]:
        """The version of each key in an object."""
        ...

    def rows(self, table: Table, data: bytes) -> Iterator[dict[str, Any]]:
        """The rows of an object, as Python has them."""
        ...


class Parquet:
    """One file of one row group for each object, compressed with Zstandard."""

    suffix = "parquet"

    def encode(self, table: Table, found: Columns) -> bytes:
        """See :class:`Format`."""
        types = dict(zip(table.names, table.types, strict=True))
        adapted = {
            name: [None if each is None else pairs(each) for each in values]
            if types[name] is Type.TEXT_BY_NAME
            else values
            for name, values in found.items()
        }
        out = BytesIO()
        pq.write_table(arrow(table, adapted), out, compression="zstd")
        return out.getvalue()

    def versions(self, table: Table, data: bytes) -> dict[Key, datetime]:
        """See :class:`Format`."""
        found = self._read(data, [*table.key, table.version])
        return _newest_versions(zip(*(found[name] for name in table.key), strict=True), found[table.version])

    def rows(self, table: Table, data: bytes) -> Iterator[dict[str, Any]]:
        """See :class:`Format`."""
        found = self._read(data, None)
        maps = [name for name, type_ in zip(table.names, table.types, strict=True) if type_ is Type.TEXT_BY_NAME]
        for values in zip(*found.values(), strict=True):
            row = dict(zip(found, values, strict=True))
            yield row | {name: dict(row[name]) for name in maps if row.get(name) is not None}

    def _read(self, data: bytes, names: list[str] | None) -> dict[str, list[Any]]:
        read: dict[str, list[Any]] = pq.read_table(pa.BufferReader(data), columns=names).to_pydict()
        return read


class JsonLines:
    """One object of JSON a line, UTF-8, times in ISO 8601, compressed with gzip."""

    suffix = "jsonl.gz"

    def encode(self, table: Table, found: Columns) -> bytes:
        """See :class:`Format`."""
        del table
        # Without a time in its header: a repeat is the same object.
        return gzip.compress("".join(f"{line}\n" for line in json_rows(found)).encode(), mtime=0)

    def versions(self, table: Table, data: bytes) -> dict[Key, datetime]:
        """See :class:`Format`."""
        rows = list(self.rows(table, data))
        keys = (tuple(row[name] for name in table.key) for row in rows)
        return _newest_versions(keys, [row[table.version] for row in rows])

    def rows(self, table: Table, data: bytes) -> Iterator[dict[str, Any]]:
        """See :class:`Format`."""
        times = [name for name, type_ in zip(table.names, table.types, strict=True) if type_ is Type.TIME]
        for line in gzip.decompress(data).decode().split("\n")[:-1]:
            row = json.loads(line)
            yield row | {name: datetime.fromisoformat(row[name]) for name in times}


def _newest_versions(keys: Any, versions: Sequence[datetime]) -> dict[Key, datetime]:
    found: dict[Key, datetime] = {}
    for key, version in zip(keys, versions, strict=True):
        if key not in found or version > found[key]:
            found[key] = version
    return found


FORMATS: Mapping[str, Format] = {"parquet": Parquet(), "jsonl": JsonLines()}


def format_of(name: str) -> Format:
    """The format by its name in a DSN. Raises :class:`UserError`."""
    if name not in FORMATS:
        raise UserError(f"objects have no format {name!r}; there are: {', '.join(FORMATS)}")
    return FORMATS[name]
