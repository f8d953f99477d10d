"""The sink that writes to PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from infra.errors import UserError
from infra.settings import Settings
from sinks import migrations
from sinks.blocking import BlockingSink
from sinks.judging import Verdict
from sinks.postgres import errors
from sinks.postgres.deadline import within
from sinks.postgres.rows import ADAPT
from sinks.sink import Block
from sinks.tables import TABLES, Table, folded
from sinks.upsert import upsert

CONNECT_WITHIN = timedelta(seconds=5)
ANSWER_WITHIN = timedelta(seconds=20)
"""For the server to take one write; a server that takes less than a batch in this time needs smaller batches."""

_LEDGER = """
CREATE TABLE IF NOT EXISTS migrations
(
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at TIMESTAMPTZ NOT NULL DEFAULT now()
)
"""
_ONE_AT_A_TIME = 0x0D12ADE4
"""Key of the advisory lock of whoever changes the schema."""


class PostgresSink(BlockingSink):
    """Writes to the database that ``dsn`` names, one transaction for each write."""

    answer_within = ANSWER_WITHIN

    def __init__(self, settings: Settings, dsn: str) -> None:
        super().__init__(settings, dsn)
        self._conninfo = conninfo(dsn)
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None

    def connect(self) -> Mapping[str, int]:
        """Connect, apply what is missing of the schema, and make the tables that COPY fills."""
        connection = self._connection = psycopg.connect(self._conninfo, autocommit=True)
        with within(connection, self.answer_within), connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [_ONE_AT_A_TIME])
            connection.execute(_LEDGER)
            applied = {int(str(number)) for (number,) in connection.execute("SELECT number FROM migrations")}
            migrations.apply("sinks.postgres.migrations", connection.execute, applied)
        with within(connection, self.answer_within):
            for table in TABLES.values():
                connection.execute(_STAGES[table.name])
        return {}

    def insert(self, table: Table, blocks: Sequence[Block]) -> None:
        """Copy every record beside its table and fold it in; nothing of a write that fails stays."""
        rows, connection = folded(table, blocks, ADAPT), self._connection
        if connection is None:
            raise AssertionError
        with within(connection, self.answer_within), connection.transaction(), connection.cursor() as cursor:
            with cursor.copy(_COPIES[table.name]) as copy:
                for row in rows:
                    copy.write_row(row)
            cursor.execute(_UPSERTS[table.name])

    def disconnect(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def judge(self, error: Exception) -> Verdict:
        """By the SQLSTATE of PostgreSQL's error."""
        return errors.judge(error)


def conninfo(dsn: str) -> str:
    """What libpq is given: what the DSN says, and ours where it says nothing. Raises :class:`UserError`."""
    try:
        given = {name: str(value) for name, value in conninfo_to_dict(dsn).items() if value is not None}
    except psycopg.ProgrammingError:
        # The error's text repeats the DSN.
        raise UserError("the DSN of a store is none that libpq can read: postgresql://USER@HOST/DATABASE") from None
    ours = {
        "connect_timeout": str(int(CONNECT_WITHIN.total_seconds())),
        "application_name": "odradek",
        "tcp_user_timeout": str(int(ANSWER_WITHIN.total_seconds() * 1000)),
        "options": f"-c statement_timeout={int(ANSWER_WITHIN.total_seconds() * 1000)} -c client_encoding=UTF8",
    }
    return make_conninfo("", **(ours | given))


def _staged(table: Table) -> str:
    return f"staged_{table.name}"


def _all_of(table: Table, source: str) -> str:
    return f"SELECT {', '.join(table.names)} FROM {source}"  # noqa: S608  # names of our own


# Emptied by its commit: nothing vacuums a temporary table.
_STAGES = {
    table.name: f"CREATE TEMPORARY TABLE {_staged(table)} ON COMMIT DELETE ROWS AS {_all_of(table, table.name)} LIMIT 0"
    for table in TABLES.values()
}
_COPIES = {table.name: f"COPY {_staged(table)} ({', '.join(table.names)}) FROM STDIN" for table in TABLES.values()}
_UPSERTS = {table.name: upsert(table, _all_of(table, _staged(table))) for table in TABLES.values()}
