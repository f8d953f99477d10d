"""Numbered, repeatable changes of the schema, applied in order when a writer opens the store.

Each ``NNN_name.sql`` is applied once; the table ``migrations`` remembers. Every statement can be repeated
(``IF NOT EXISTS``), because two writers may start together and a kill may come between a statement and the note of it.
A file that was released is never changed: a further change is a further file.
"""

from collections.abc import Callable
from importlib.resources import files
from typing import NamedTuple

Execute = Callable[[str], object]

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


class Migration(NamedTuple):
    """One file."""

    number: int
    name: str
    statements: tuple[str, ...]


def migrations() -> list[Migration]:
    """Every migration, in order."""
    found = sorted(entry.name for entry in files(__name__).iterdir() if entry.name.endswith(".sql"))
    return [parse(name, files(__name__).joinpath(name).read_text()) for name in found]


def parse(name: str, text: str) -> Migration:
    """The statements of one file: each ends with a semicolon at the end of a line; lines of ``--`` are for people."""
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    statements = ("\n".join(lines) + "\n").split(";\n")
    return Migration(int(name[:3]), name[4:-4], tuple(each.strip() for each in statements if each.strip()))


def apply(execute: Execute) -> list[str]:
    """Apply what is missing; returns the names. ``execute`` runs one statement and returns its first column."""
    execute(_LEDGER)
    done = _applied(execute)
    fresh = [each for each in migrations() if each.number not in done]
    for migration in fresh:
        for statement in migration.statements:
            execute(statement)
        execute(f"INSERT INTO migrations (number, name) VALUES ({migration.number}, '{migration.name}')")  # noqa: S608  # both parts are names of our own files
    return [migration.name for migration in fresh]


def _applied(execute: Execute) -> set[int]:
    listed = execute("SELECT arrayStringConcat(arrayMap(toString, groupUniqArray(number)), ',') FROM migrations")
    return {int(number) for number in str(listed).split(",") if number.isdigit()}
