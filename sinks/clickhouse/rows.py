"""From decoded records to the Arrow tables that ClickHouse is given."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pyarrow as pa

from sinks.arrow import arrow, pairs
from sinks.sink import Block
from sinks.tables import Table, Type, columns

# What DateTime64 can hold (ClickHouse reference, "DateTime64"); outside of it values are stored as something else.
EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
LATEST = datetime(2299, 12, 31, tzinfo=UTC)


def arrow_table(table: Table, blocks: Sequence[Block]) -> pa.Table:
    """All records of ``blocks`` as rows of ``table``, in order; without the columns that the store fills in itself.

    Raises :class:`NeverValid` (``unstorable``) naming the column when a value fits it by no rule.
    """
    return arrow(table, columns(table, blocks, {Type.TIME: _within_range, Type.TEXT_BY_NAME: pairs}))


def _within_range(time: datetime) -> datetime:
    if not EARLIEST <= time <= LATEST:
        raise ValueError(f"{time.isoformat()} is outside of what a column of times can hold")
    return time
