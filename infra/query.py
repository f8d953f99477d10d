"""Ask the database of analysts, whichever room owns it: found by entry point, so that nobody imports a sink."""

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import NamedTuple

from infra.errors import UserError
from infra.settings import Settings

GROUP = "odradek.queries"


class Table(NamedTuple):
    """Rows as JSON has them: wide integers as text, so that none loses digits."""

    columns: Sequence[str]
    types: Sequence[str]
    rows: Sequence[Sequence[object]]
    cut: bool
    """Whether there are more."""


Query = Callable[[Settings, str, int], Table]


def ask(settings: Settings, sql: str, limit: int) -> Table:
    """At most ``limit`` rows. Reads only. Raises :class:`UserError` with what is wrong, in one line. Blocks."""
    for each in entry_points(group=GROUP):
        query: Query = each.load()
        return query(settings, sql, limit)
    raise UserError("no database is installed that could be asked")
