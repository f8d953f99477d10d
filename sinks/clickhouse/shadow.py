"""Shadows of the table of documents: see :mod:`infra.shadow`."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from infra.errors import UserError
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.shadow import Comparison, Difference, Sample, ShadowName, usable_name
from infra.telemetry.tracing import trace_of
from schemas.records import Document
from sinks.clickhouse import connection, endpoint, errors, migrations
from sinks.clickhouse.embedded import DirectoryLock
from sinks.clickhouse.rows import arrow_table
from sinks.clickhouse.sink import PATIENCE
from sinks.clickhouse.statements import literal
from sinks.sink import Block, Entry
from sinks.tables import DOCUMENTS

_PREFIX = "documents_replay_"
_KEY = ("crawl", "host", "url", "visit")
_NO_PLACE = -1
"""Where a row stands in ``documents``, when it was never a record there."""
# What tells who, when and where, and what follows from a field that is compared.
_NOT_COMPARED = frozenset(
    (*_KEY, "url_id", "fetch_id", "parent", "depth", "status", "fetched_at", "cleaned_at", "cleaner", "rules")
) | {"content_hash", "simhash", "duplicate_of", "near_duplicate_of"}
_FIELDS = tuple(column.name for column in DOCUMENTS.columns if column.name not in _NOT_COMPARED)
_EMPTY = "('(NULL)', '(\\'\\')', '([])', '({})', '(\\'{}\\')', '(0)')"
_SAMPLE_CHARS = 20_000


@contextmanager
def open_shadows(settings: Settings) -> Iterator["ClickHouseShadows"]:
    """The server, the door of the process that owns the embedded engine, or the engine itself.

    Raises :class:`UserError` when it cannot be had for writing.
    """
    directory = connection.directory(settings)
    url = settings.clickhouse_url or endpoint.living(directory)
    lock = DirectoryLock(directory)
    try:
        if url is None:
            lock.acquire(PATIENCE)
            client = connection.connect_embedded(directory)
        elif settings.clickhouse_url is None and not settings.sinks.clickhouse.http_writable:
            raise UserError(
                "a running crawl owns the embedded ClickHouse, and its door only reads: wait until the crawl has "
                "ended, or run it with ODRADEK_SINKS__CLICKHOUSE__HTTP_WRITABLE=true"
            )
        else:
            client = connection.connect_server(url)
        try:
            migrations.apply(client.command)
            yield ClickHouseShadows(client)
        finally:
            client.close()
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"ClickHouse cannot be used: {errors.one_line(error)}") from error
    finally:
        lock.release()


class ClickHouseShadows:
    """Each is a table of the same shape; its comment holds what its maker wrote about it."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def present(self) -> list[ShadowName]:
        """See :class:`infra.shadow.Shadows`."""
        listed = self._rows(
            "SELECT name, comment, ifNull(total_rows, 0) AS n FROM system.tables "  # noqa: S608  # names of our own
            f"WHERE database = currentDatabase() AND startsWith(name, {literal(_PREFIX)}) ORDER BY name"
        )
        return [ShadowName(row["name"].removeprefix(_PREFIX), row["comment"], int(row["n"])) for row in listed]

    def create(self, name: str, about: str) -> None:
        """See :class:`infra.shadow.Shadows`."""
        if any(each.name == name for each in self.present()):
            raise UserError(f"there is a replay {name!r} already: promote or drop it, or take another --name")
        table = f"{_PREFIX}{usable_name(name)}"
        self._client.command(f"CREATE TABLE {table} AS documents")
        self._client.command(f"ALTER TABLE {table} MODIFY COMMENT {literal(about)}")

    def write(self, name: str, documents: Sequence[Document]) -> None:
        """See :class:`infra.shadow.Shadows`."""
        entries = tuple(
            Entry(_NO_PLACE, each, trace_of(each.crawl, each.url_id, each.visit).child()) for each in documents
        )
        if not entries:
            return
        rows = arrow_table(DOCUMENTS, [Block(TopicName.DOCUMENTS, _NO_PLACE, entries)])
        self._client.insert_arrow(self._table(name), rows, settings=connection.INSERT_SETTINGS)

    def compare(self, name: str, samples: int) -> Comparison:
        """See :class:`infra.shadow.Shadows`."""
        table = self._table(name)
        counts = ", ".join(
            f"countIf(d.found AND d.h_{field} != s.h_{field}) AS changed_{field}, "
            f"countIf(d.found AND d.e_{field} AND NOT s.e_{field}) AS appeared_{field}, "
            f"countIf(d.found AND s.e_{field} AND NOT d.e_{field}) AS vanished_{field}"
            for field in _FIELDS
        )
        alike = " AND ".join(f"d.h_{field} = s.h_{field}" for field in _FIELDS)
        [row] = self._rows(
            f"SELECT count() AS n, countIf(NOT d.found) AS missing, countIf(d.found AND {alike}) AS same, {counts} "  # noqa: S608  # names of our own
            f"FROM {_joined(table, _FIELDS, 'LEFT')}"
        )
        differences = [
            Difference(
                field,
                int(row[f"changed_{field}"]),
                int(row[f"appeared_{field}"]),
                int(row[f"vanished_{field}"]),
                self._samples(table, field, samples),
            )
            for field in _FIELDS
            if int(row[f"changed_{field}"])
        ]
        differences.sort(key=lambda each: -each.changed)
        return Comparison(int(row["n"]), int(row["missing"]), int(row["same"]), differences)

    def _samples(self, table: str, field: str, most: int) -> list[Sample]:
        keys = self._rows(
            f"SELECT {', '.join(f's.{part} AS {part}' for part in _KEY)} FROM {_joined(table, (field,), 'INNER')} "  # noqa: S608  # names of our own
            f"WHERE d.h_{field} != s.h_{field} ORDER BY url, visit LIMIT {most}"
        )
        return [
            Sample(key["crawl"], key["url"], int(key["visit"]), *(self._value(each, field, key) for each in sides))
            for key in keys
            for sides in [("documents", table)]
        ]

    def _value(self, table: str, field: str, key: dict[str, Any]) -> str:
        where = " AND ".join(f"{part} = {literal(str(key[part]))}" for part in _KEY)
        [row] = self._rows(
            f"SELECT substring(ifNull(toString({field}), ''), 1, {_SAMPLE_CHARS}) AS value FROM {table} FINAL "  # noqa: S608  # names of our own
            f"WHERE {where}"
        )
        return str(row["value"])

    def promote(self, name: str) -> int:
        """See :class:`infra.shadow.Shadows`."""
        table = self._table(name)
        [row] = self._rows(f"SELECT count() AS n FROM {table} FINAL")  # noqa: S608  # a name of our own
        settings = ", ".join(f"{key} = {value}" for key, value in connection.INSERT_SETTINGS.items())
        # Cleaned later than the rows that they replace: of two rows of one visit the newer stays.
        # By name: a table that was made by an older version lacks columns.
        names = f"database = currentDatabase() AND table = {literal(table)}"
        columns = ", ".join(each["name"] for each in self._rows(f"SELECT name FROM system.columns WHERE {names}"))  # noqa: S608
        self._client.command(
            f"INSERT INTO documents ({columns}) SELECT {columns} FROM {table} FINAL SETTINGS {settings}"  # noqa: S608
        )
        self.drop(name)
        return int(row["n"])

    def drop(self, name: str) -> None:
        """See :class:`infra.shadow.Shadows`."""
        self._client.command(f"DROP TABLE {self._table(name)}")

    def _table(self, name: str) -> str:
        table = f"{_PREFIX}{usable_name(name)}"
        present = self.present()
        if not any(each.name == name for each in present):
            there = ", ".join(each.name for each in present) or "none"
            raise UserError(f"there is no replay {name!r}; there are: {there}")
        return table

    def _rows(self, sql: str) -> list[dict[str, Any]]:
        answer: bytes = self._client.raw_query(sql, fmt="JSONEachRow")
        return [json.loads(line) for line in answer.splitlines()]


def _joined(table: str, fields: Sequence[str], kind: str) -> str:
    """Each row of the shadow beside its document, fields as hashes: rows of pages would not fit into memory."""
    return f"{_hashed(table, fields)} AS s {kind} JOIN {_hashed('documents', fields)} AS d USING ({', '.join(_KEY)})"


def _hashed(table: str, fields: Sequence[str]) -> str:
    # In a tuple a NULL has a text too, and differs from an empty one.
    hashes = ", ".join(
        f"sipHash64(toString(tuple({field}))) AS h_{field}, toString(tuple({field})) IN {_EMPTY} AS e_{field}"
        for field in fields
    )
    return f"(SELECT {', '.join(_KEY)}, true AS found, {hashes} FROM {table} FINAL)"  # noqa: S608  # names of our own
