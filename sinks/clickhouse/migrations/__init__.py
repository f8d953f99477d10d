"""The schema in ClickHouse, described column by column; :mod:`sinks.migrations` says how the files are applied.

Two writers may start together: every statement can be repeated (``IF NOT EXISTS``), and the table of what was applied
folds repeats as the others do.
"""

from collections.abc import Callable

from sinks import migrations

Execute = Callable[[str], object]
"""Runs one statement and returns its first column."""

_LEDGER = """
CREATE TABLE IF NOT EXISTS migrations
(
    number UInt32 COMMENT 'Of the file.',
    name String COMMENT 'Of the file.',
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When.'
)
ENGINE = ReplacingMergeTree ORDER BY number
COMMENT 'Which changes of the schema were applied.'
"""


def apply(execute: Execute) -> list[str]:
    """Apply what is missing; returns the names."""
    execute(_LEDGER)
    listed = execute("SELECT arrayStringConcat(arrayMap(toString, groupUniqArray(number)), ',') FROM migrations")
    return migrations.apply(__name__, execute, {int(each) for each in str(listed).split(",") if each.isdigit()})
