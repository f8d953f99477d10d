"""From columns to Arrow tables: pure, and as wide as the contracts, so that nothing is cut or wrapped."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from sinks.tables import Table, Type, unstorable

ARROW: dict[Type, pa.DataType] = {
    Type.TEXT: pa.string(),
    Type.INT: pa.int32(),
    Type.LONG: pa.int64(),
    Type.REAL: pa.float64(),
    Type.TIME: pa.timestamp("us", "UTC"),
    Type.TEXTS: pa.list_(pa.string()),
    Type.TEXT_BY_NAME: pa.map_(pa.string(), pa.string()),
}


def arrow(table: Table, found: Mapping[str, Sequence[Any]]) -> pa.Table:
    """The values of :func:`sinks.tables.columns` as one Arrow table.

    Raises :class:`NeverValid` (``unstorable``) naming the column when a value fits it by no rule.
    """
    types = zip(found, table.types, strict=True)
    return pa.table({name: _array(name, found[name], ARROW[type_]) for name, type_ in types})


def pairs(found: dict[str, str]) -> list[tuple[str, str]]:
    """A map as Arrow wants it."""
    return list(found.items())


def _array(name: str, values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, type_)
    except (pa.ArrowException, ValueError, OverflowError, TypeError) as error:
        # UnicodeEncodeError is a ValueError: a lone surrogate has no bytes.
        raise unstorable(name, error) from None
