"""SQLite when its file is locked, full, somebody else's or read meanwhile."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from infra.errors import RetryLater, UserError
from infra.kafka.topics import TopicName
from infra.settings import Settings
from sinks.sqlite import sink as sqlite_sink
from sinks.sqlite.sink import SQLiteSink, path
from sinks.tables import TABLES, Type
from tests.unit.sinks.sink_samples import block, block_of, document

DOCUMENTS = TopicName.DOCUMENTS
TYPES = {Type.INT: "INTEGER", Type.LONG: "INTEGER", Type.REAL: "REAL"}


def count(file: Path) -> int:
    """Documents, as another process sees them."""
    with closing(sqlite3.connect(file)) as reader:
        return int(reader.execute("SELECT count(*) FROM documents").fetchone()[0])


def test_which_file_a_dsn_means(tmp_path: Path) -> None:
    """``sqlite:`` is in the data directory; anything behind it is a path."""
    settings = Settings(data_dir=tmp_path)
    assert path(settings, "sqlite:") == path(settings, "sqlite://") == tmp_path / "rows.sqlite"
    assert path(settings, "sqlite:a/b%20c.db") == Path("a/b c.db")
    assert path(settings, "sqlite:///var/x.db") == path(settings, "sqlite:/var/x.db") == Path("/var/x.db")


def test_a_file_that_another_writer_holds_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that lasts is trouble that passes; readers hinder nobody."""
    monkeypatch.setattr(sqlite_sink, "LOCK_PATIENCE", sqlite_sink.LOCK_PATIENCE / 100)
    file = tmp_path / "rows.sqlite"

    async def scenario() -> None:
        sink = SQLiteSink(Settings(data_dir=tmp_path), "sqlite:")
        await sink.open()
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(RetryLater, match="locked"):
                await sink.write(DOCUMENTS, [block(DOCUMENTS, range(10))])
            other.execute("ROLLBACK")
            other.execute("BEGIN")
            other.execute("SELECT count(*) FROM documents").fetchone()
            await sink.write(DOCUMENTS, [block(DOCUMENTS, range(10))])
        assert count(file) == 10
        await sink.close()

    asyncio.run(scenario())


def test_a_full_disk_is_waited_for(tmp_path: Path) -> None:
    """SQLITE_FULL is the store's trouble; nothing of the write stays, and it succeeds when there is room."""
    file = tmp_path / "rows.sqlite"

    async def scenario() -> None:
        sink = SQLiteSink(Settings(data_dir=tmp_path), "sqlite:")
        await sink.open()
        large = [block_of(DOCUMENTS, *(document(number, text=str(number) * 5_000) for number in range(100)))]
        connection = sink._connection
        assert connection is not None
        await sink.call(lambda: connection.execute("PRAGMA max_page_count = 30").fetchall())
        with pytest.raises(RetryLater, match="full"):
            await sink.write(DOCUMENTS, large)
        assert count(file) == 0
        await sink.write(DOCUMENTS, large)
        assert count(file) == 100
        await sink.close()

    asyncio.run(scenario())


def test_a_file_that_is_no_database_is_told_to_the_user(tmp_path: Path) -> None:
    """Nothing is written into a file that is something else."""
    file = tmp_path / "notes.txt"
    file.write_text("my notes, which are no database\n" * 100)

    async def scenario() -> None:
        sink = SQLiteSink(Settings(), f"sqlite:{file}")
        try:
            with pytest.raises(UserError, match="is no SQLite database"):
                await sink.open()
        finally:
            await sink.close()

    asyncio.run(scenario())
    assert file.read_text().startswith("my notes")


def test_a_folder_that_cannot_be_made_is_waited_for(tmp_path: Path) -> None:
    """A disk that is not mounted yet passes."""
    (tmp_path / "file").write_text("")

    async def scenario() -> None:
        sink = SQLiteSink(Settings(), f"sqlite:{tmp_path}/file/rows.db")
        try:
            with pytest.raises(RetryLater):
                await sink.open()
        finally:
            await sink.close()

    asyncio.run(scenario())


def test_the_schema_is_that_of_the_tables(tmp_path: Path) -> None:
    """Every column of every table is there with its type, after all migrations; times sort as text."""

    async def scenario() -> None:
        sink = SQLiteSink(Settings(data_dir=tmp_path), "sqlite:")
        await sink.open()
        await sink.write(DOCUMENTS, [block(DOCUMENTS, range(3))])
        assert await sink.open() == {}
        await sink.close()
        assert (await SQLiteSink(Settings(data_dir=tmp_path), "sqlite:").open())["documents"] == 3

    asyncio.run(scenario())
    with closing(sqlite3.connect(tmp_path / "rows.sqlite")) as reader:
        for table in TABLES.values():
            found = {name: kind for _, name, kind, *_ in reader.execute(f"PRAGMA table_info({table.name})")}
            assert found.pop("inserted_at") == "TEXT"
            assert found == {name: TYPES.get(kind, "TEXT") for name, kind in zip(table.names, table.types, strict=True)}
        [(time,)] = reader.execute("SELECT fetched_at FROM documents ORDER BY fetched_at LIMIT 1")
        assert time == "2026-12-01T12:00:00.000000Z"
        [(links,)] = reader.execute("SELECT count(*) FROM documents, json_each(links) WHERE visit = 0")
        assert links == 3
