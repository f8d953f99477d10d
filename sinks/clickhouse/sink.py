"""The sink that writes to ClickHouse."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from hashlib import blake2b
from typing import Any

from infra.settings import Settings
from sinks.blocking import BlockingSink
from sinks.clickhouse import connection, errors, migrations
from sinks.clickhouse.embedded import DirectoryLock, cancel_queries
from sinks.clickhouse.facade import Facade
from sinks.clickhouse.retention import keep_for
from sinks.clickhouse.rows import arrow_table
from sinks.judging import Verdict
from sinks.sink import Block
from sinks.tables import TABLES, Table

PATIENCE = timedelta(seconds=10)
"""How long an opener waits for a reader of the embedded directory to finish."""


class ClickHouseSink(BlockingSink):
    """Writes to the server that ``dsn`` names, or else to the embedded engine, which it then serves for reading."""

    def __init__(self, settings: Settings, dsn: str) -> None:
        self._server = connection.server(settings, dsn)
        super().__init__(settings, self._server or dsn)
        self._directory = connection.directory(settings)
        self._lock = DirectoryLock(self._directory)
        self._client: Any = None
        self._facade: Facade | None = None

    async def open(self) -> Mapping[str, int]:
        """Connect and, embedded, open the door for readers."""
        held = await super().open()
        if self._server is None and self._facade is None:
            facade = Facade(self._directory, self.settings)
            await facade.start()
            self._facade = facade
        return held

    def connect(self) -> Mapping[str, int]:
        """A client of the server or of the engine in the data directory."""
        if self._server:
            connection.create_database(self._server)
            self._client = connection.connect_server(self._server)
        else:
            self._lock.acquire(PATIENCE)
            self._client = connection.connect_embedded(self._directory)
        migrations.apply(self._client.command)
        keep_for(self._client.command, self.settings.sinks.clickhouse.ttl)
        return {} if self._server else {table.name: self._held(table) for table in TABLES.values()}

    def _held(self, table: Table) -> int:
        return int(self._client.command(f"SELECT count() FROM {table.name} FINAL"))  # noqa: S608  # names of our own

    def insert(self, table: Table, blocks: Sequence[Block]) -> None:
        """Insert every record with one statement."""
        settings = connection.INSERT_SETTINGS | {"insert_deduplication_token": token(blocks)}
        self._client.insert_arrow(table.name, arrow_table(table, blocks), settings=settings)

    def judge(self, error: Exception) -> Verdict:
        """By the number of ClickHouse's error."""
        return errors.judge(error)

    def lose(self) -> None:
        """Nothing: over HTTP each statement stands for itself, and an engine that was opened stays open."""

    async def close(self) -> None:
        """Close the door for readers, then the engine. Queries that still run are cancelled."""
        if self._facade is not None:
            await self.call(lambda: cancel_queries(self._directory))
            await self._facade.stop()
            self._facade = None
        await super().close()

    def disconnect(self) -> None:
        """Give the directory free, too."""
        try:
            if self._client is not None:
                self._client.close()
                self._client = None
        finally:
            self._lock.release()


def token(blocks: Sequence[Block]) -> str:
    """Names the blocks of one statement by the places of all of them; one block's token stays readable."""
    names = [block.token for block in blocks]
    if len(names) == 1:
        return names[0]
    return blake2b("+".join(names).encode(), digest_size=16).hexdigest()
