"""From decoded records to Arrow tables: pure, and as wide as the contracts, so that nothing is cut or wrapped."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from sinks.sink import Block
from sinks.tables import Table, Type, columns, unstorable

ARROW: dict[Type, pa.DataType] = {
    Type.TEXT: pa.string(),
    Type.INT: pa.int32(),
    Type.LONG: pa.int64(),
    Type.REAL: pa.float64(),
    Type.TIME: pa.timestamp("us", "UTC"),
    Type.TEXTS: pa.list_(pa.string()),
    Type.TEXT_BY_NAME: pa.map_(pa.string(), pa.string()),
}

# What DateTime64 can hold (ClickHouse reference, "DateTime64"); outside of it values are stored as something else.
EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
LATEST = datetime(2299, 12, 31, tzinfo=UTC)


def arrow_table(table: Table, blocks: Sequence[Block]) -> pa.Table:
    """All records of ``blocks`` as rows of ``table``, in order; without the columns that the store fills in itself.

    Raises :class:`NeverValid` (``unstorable``) naming the column when a value fits it by no rule.
    """
    values = columns(table, blocks, {Type.TIME: _within_range, Type.TEXT_BY_NAME: _pairs})
    types = zip(values, table.types, strict=True)
    return pa.table({name: _array(name, values[name], ARROW[type_]) for name, type_ in types})


def _array(name: str, values: list[Any], type_: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, type_)
    except (pa.ArrowException, ValueError, OverflowError, TypeError) as error:
        # UnicodeEncodeError is a ValueError: a lone surrogate has no bytes.
        raise unstorable(name, error) from None


def _pairs(found: dict[str, str]) -> list[tuple[str, str]]:
    return list(found.items())


def _within_range(time: datetime) -> datetime:
    if not EARLIEST <= time <= LATEST:
        raise ValueError(f"{time.isoformat()} is outside of what a column of times can hold")
    return time
