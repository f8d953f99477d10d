"""The sink that writes to a SQLite file."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

from infra.errors import UserError
from infra.settings import Settings
from sinks import migrations
from sinks.blocking import BlockingSink
from sinks.judging import Verdict
from sinks.sink import Block
from sinks.sqlite import errors
from sinks.tables import TABLES, Table, Type, columns
from sinks.upsert import upsert

LOCK_PATIENCE = timedelta(seconds=20)
"""How long a write waits for another writer of the same file."""

_LEDGER = """
CREATE TABLE IF NOT EXISTS migrations
(
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ'))
) STRICT
"""


class SQLiteSink(BlockingSink):
    """Writes to the file that ``dsn`` names, one transaction for each write."""

    def __init__(self, settings: Settings, dsn: str) -> None:
        super().__init__(settings, dsn)
        self._path = path(settings, dsn)
        self._connection: sqlite3.Connection | None = None

    def connect(self) -> Mapping[str, int]:
        """Open the file, made where it is missing."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = self._connection = sqlite3.connect(self._path, LOCK_PATIENCE.total_seconds(), isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
                raise UserError(f"{self._path} is no SQLite database; name another file") from None
            raise
        # A write that returned is committed to Kafka soon after: it has to survive a power cut.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            connection.execute(_LEDGER)
            applied = {number for (number,) in connection.execute("SELECT number FROM migrations")}
            migrations.apply("sinks.sqlite.migrations", connection.execute, applied)
        return {table.name: self._held(connection, table) for table in TABLES.values()}

    def _held(self, connection: sqlite3.Connection, table: Table) -> int:
        [(rows,)] = connection.execute(f"SELECT count(*) FROM {table.name}")  # noqa: S608  # names of our own
        return int(rows)

    def insert(self, table: Table, blocks: Sequence[Block]) -> None:
        """Upsert every record in one transaction."""
        rows = zip(*columns(table, blocks, ADAPT).values(), strict=True)
        if self._connection is None:
            raise AssertionError
        self._connection.execute("BEGIN IMMEDIATE")
        with self._connection:
            self._connection.executemany(_UPSERTS[table.name], rows)

    def disconnect(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def judge(self, error: Exception) -> Verdict:
        """By the class of SQLite's error."""
        return errors.judge(error)


def path(settings: Settings, dsn: str) -> Path:
    """The file that ``dsn`` means: what stands behind ``sqlite:``, else one in the data directory."""
    found = unquote(urlsplit(dsn).path)
    return Path(found) if found else settings.data_dir / "rows.sqlite"


def _time(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


ADAPT = {Type.TIME: _time, Type.TEXTS: _json, Type.TEXT_BY_NAME: _json}

_UPSERTS = {table.name: upsert(table, f"VALUES ({', '.join('?' * len(table.names))})") for table in TABLES.values()}
