"""Numbered, repeatable changes of a schema, applied in order when a writer opens a store.

Each ``NNN_name.sql`` of a store's package is applied once; its table ``migrations`` remembers. Every statement can be
repeated (``IF NOT EXISTS``), because a kill may come between a statement and the note of it. A file that was released
is never changed: a further change is a further file.
"""

from collections.abc import Callable, Collection
from importlib.resources import files
from typing import NamedTuple

from infra.telemetry.event import emit
from infra.telemetry.vocabulary.sinks import SchemaMigrated

Execute = Callable[[str], object]


class Migration(NamedTuple):
    """One file."""

    number: int
    name: str
    statements: tuple[str, ...]


def migrations(package: str) -> list[Migration]:
    """Every migration among the files of ``package``, in order."""
    found = sorted(entry.name for entry in files(package).iterdir() if entry.name.endswith(".sql"))
    return [parse(name, files(package).joinpath(name).read_text()) for name in found]


def parse(name: str, text: str) -> Migration:
    """The statements of one file: each ends with a semicolon at the end of a line; lines of ``--`` are for people."""
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    statements = ("\n".join(lines) + "\n").split(";\n")
    return Migration(int(name[:3]), name[4:-4], tuple(each.strip() for each in statements if each.strip()))


def apply(package: str, execute: Execute, applied: Collection[int]) -> list[str]:
    """Apply what is not among ``applied``, the numbers that the table ``migrations`` holds; returns the names."""
    fresh = [each for each in migrations(package) if each.number not in applied]
    for migration in fresh:
        for statement in migration.statements:
            execute(statement)
        execute(f"INSERT INTO migrations (number, name) VALUES ({migration.number}, '{migration.name}')")  # noqa: S608  # both parts are names of our own files
    names = [migration.name for migration in fresh]
    if names:
        emit(SchemaMigrated(names))
    return names
