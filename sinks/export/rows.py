"""Rows out of ClickHouse, in slices."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from infra.errors import UserError
from infra.settings import Settings
from sinks.clickhouse import statements
from sinks.clickhouse.command import ask
from sinks.tables import Table

SLICE_ROWS = 20_000


@dataclass(frozen=True)
class Range:
    """Which rows of a table; ``None`` is all."""

    since: datetime | None = None
    until: datetime | None = None
    """Exclusive."""
    crawl: str | None = None
    host: str | None = None

    def conditions(self, table: Table) -> list[str]:
        """As SQL."""
        texts = {"crawl": self.crawl, "host": self.host}
        found = [f"{name} = {statements.literal(text)}" for name, text in texts.items() if text is not None]
        if self.since is not None:
            found.append(f"{table.time} >= {_time(self.since)}")
        if self.until is not None:
            found.append(f"{table.time} < {_time(self.until)}")
        return found


def answer(settings: Settings, sql: str) -> pa.Table:
    """What a statement answers, whole. Raises :class:`UserError` when it is refused."""
    if why := statements.refusal(sql):
        raise UserError(why)
    if format_ := statements.format_of(sql):
        raise UserError(f"the format is that of the file: leave FORMAT {format_} out")
    try:
        return pa.ipc.open_stream(ask(settings, sql, "ArrowStream")).read_all()
    except RuntimeError as error:
        raise UserError(str(error)) from None


def slices(settings: Settings, table: Table, range_: Range, rows: int = SLICE_ROWS) -> Iterator[pa.Table]:
    """The rows of a table by its time, so many at once: what is in memory does not grow with the table.

    A slice ends between two times: rows of one and the same microsecond are never parted. What is written while this
    reads may or may not be among them.
    """
    # The names are the tables' own, the values literals.
    conditions = range_.conditions(table)
    after: list[str] = []
    while True:
        where = " AND ".join([*conditions, *after]) or "1"
        sql = f"SELECT * FROM {table.name} WHERE {where} ORDER BY {table.time} LIMIT {rows} WITH TIES"  # noqa: S608
        found = answer(settings, sql)
        if found.num_rows or not after:
            yield found
        if found.num_rows < rows:
            return
        after = [f"{table.time} > {_time(found[table.time][-1].as_py())}"]


def _time(moment: datetime) -> str:
    return f"toDateTime64({statements.literal(f'{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}')}, 6, 'UTC')"
