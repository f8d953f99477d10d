"""The shortest program for each store that puts the values of documents into it, with rows that lie there ready."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pyarrow as pa
from psycopg.types.json import Jsonb

from sinks.clickhouse.connection import connect_embedded
from sinks.clickhouse.rows import ARROW
from sinks.sink import Block
from sinks.tables import DOCUMENTS, Type, columns


class Bare(NamedTuple):
    """A bare client. What ``prepare`` does is not measured."""

    prepare: Callable[[Sequence[Block]], Any]
    write: Callable[[Any], object]
    close: Callable[[], object]


def _rows(blocks: Sequence[Block], adapt: dict[Type, Callable[[Any], object]]) -> list[list[tuple[Any, ...]]]:
    return [list(zip(*columns(DOCUMENTS, [block], adapt).values(), strict=True)) for block in blocks]


def _schema(package: str) -> list[str]:
    text = files(package).joinpath("001_tables.sql").read_text()
    return [each for each in text.split(";\n") if each.strip()]


def bare_clickhouse(directory: Path) -> Bare:
    """Columns that are there, by way of Arrow into a table like ours of the same engine: a process has only one."""
    client: Any = None

    def prepare(blocks: Sequence[Block]) -> list[dict[str, list[Any]]]:
        nonlocal client
        if client is None:
            client = connect_embedded(directory)
            client.command("CREATE TABLE bare AS documents")
        return [columns(DOCUMENTS, [block], {Type.TEXT_BY_NAME: lambda found: list(found.items())}) for block in blocks]

    def write(batches: Sequence[dict[str, list[Any]]]) -> None:
        for values in batches:
            types = zip(values, DOCUMENTS.types, strict=True)
            table = pa.table({name: pa.array(values[name], ARROW[type_]) for name, type_ in types})
            client.insert_arrow("bare", table)

    def close() -> None:
        if client is not None:
            client.close()

    return Bare(prepare, write, close)


def bare_sqlite(path: Path) -> Bare:
    """``executemany`` in a transaction."""
    connection = sqlite3.connect(path, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    for statement in _schema("sinks.sqlite.migrations"):
        connection.execute(statement)
    marks = ", ".join("?" * len(DOCUMENTS.names))
    insert = f"INSERT INTO documents ({', '.join(DOCUMENTS.names)}) VALUES ({marks})"

    def write(batches: Sequence[Sequence[tuple[Any, ...]]]) -> None:
        for rows in batches:
            with connection:
                connection.executemany(insert, rows)

    adapt: dict[Type, Callable[[Any], object]] = {Type.TIME: str, Type.TEXTS: json.dumps, Type.TEXT_BY_NAME: json.dumps}
    return Bare(lambda blocks: _rows(blocks, adapt), write, connection.close)


def bare_postgres(dsn: str) -> Bare:
    """COPY of values as psycopg takes them, straight into the table."""
    connection = psycopg.connect(dsn)
    for statement in _schema("sinks.postgres.migrations"):
        connection.execute(statement)  # type: ignore[call-overload]
    connection.commit()
    copying = f"COPY documents ({', '.join(DOCUMENTS.names)}) FROM STDIN"

    def write(batches: Sequence[Sequence[tuple[Any, ...]]]) -> None:
        for rows in batches:
            with connection.transaction(), connection.cursor() as cursor, cursor.copy(copying) as copy:  # type: ignore[call-overload]
                for row in rows:
                    copy.write_row(row)

    return Bare(lambda blocks: _rows(blocks, {Type.TEXT_BY_NAME: Jsonb}), write, connection.close)


def bare_redis(client: Any) -> Bare:
    """A pipeline of HSET."""
    adapt: dict[Type, Callable[[Any], object]] = {Type.TIME: str, Type.TEXTS: json.dumps, Type.TEXT_BY_NAME: json.dumps}

    def prepare(blocks: Sequence[Block]) -> list[list[dict[str, Any]]]:
        maps = ([zip(DOCUMENTS.names, row, strict=True) for row in rows] for rows in _rows(blocks, adapt))
        return [[{name: value for name, value in row if value is not None} for row in rows] for rows in maps]

    def write(batches: Sequence[Sequence[dict[str, Any]]]) -> None:
        for rows in batches:
            pipeline = client.pipeline(transaction=False)
            for row in rows:
                pipeline.hset(f"bare:{row['crawl']}:{row['url_id']}", mapping=row)
            pipeline.execute()

    return Bare(prepare, write, client.close)
