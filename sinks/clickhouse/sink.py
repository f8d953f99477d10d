"""The sink that writes to ClickHouse."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, TypeVar

from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.sinks import RowsWritten, SchemaMigrated, StoreOpened
from sinks.clickhouse import connection, errors, migrations
from sinks.clickhouse.embedded import DirectoryLock, cancel_queries
from sinks.clickhouse.facade import Facade
from sinks.clickhouse.retention import keep_for
from sinks.clickhouse.rows import TABLES, arrow_table, times
from sinks.latency import Latency
from sinks.sink import Block

T = TypeVar("T")

PATIENCE = timedelta(seconds=10)
"""How long an opener waits for a reader of the embedded directory to finish."""


class ClickHouseSink:
    """Writes to the server that ``dsn`` names, or else to the embedded engine, which it then serves for reading.

    Every call to the engine or the server happens in one thread, so writes are one after the other and in order.
    """

    def __init__(self, settings: Settings, dsn: str) -> None:
        self._settings = settings
        self._server = connection.server(settings, dsn)
        self._directory = connection.directory(settings)
        self._lock = DirectoryLock(self._directory)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="clickhouse")
        self._client: Any = None
        self._facade: Facade | None = None
        self._rows: Counter[str] = Counter()
        self._latency = Latency()

    @property
    def _where(self) -> str:
        return connection.without_secrets(self._server) if self._server else connection.EMBEDDED

    async def open(self) -> None:
        """Connect, bring the schema up to date and, embedded, open the door for readers."""
        if self._client is None:
            await self._call(self._connect)
            emit(StoreOpened(self._where))
        if self._server is None and self._facade is None:
            facade = Facade(self._directory, self._settings)
            await facade.start()
            self._facade = facade

    def _connect(self) -> None:
        try:
            if self._server:
                connection.create_database(self._server)
                client = connection.connect_server(self._server)
            else:
                self._lock.acquire(PATIENCE)
                client = connection.connect_embedded(self._directory)
            if applied := migrations.apply(client.command):
                emit(SchemaMigrated(applied))
            keep_for(client.command, self._settings.sinks.clickhouse.ttl)
            if not self._server:
                for table in TABLES.values():
                    self._rows[table.name] = int(client.command(f"SELECT count() FROM {table.name} FINAL"))  # noqa: S608  # names of our own
        except Exception as error:
            self._lock.release()
            raise errors.opening_failure(error, self._where) from error
        self._client = client

    async def write(self, topic: TopicName, blocks: Sequence[Block]) -> None:
        """Insert every record of ``blocks`` with one statement; see :class:`sinks.sink.Sink`."""
        filled = [block for block in blocks if block.entries]
        if filled:
            await self._call(lambda: self._insert(topic, filled))

    def _insert(self, topic: TopicName, blocks: Sequence[Block]) -> None:
        table = TABLES[topic]
        began = datetime.now(UTC)
        rows = arrow_table(table, blocks)
        try:
            self._client.insert_arrow(
                table.name, rows, settings=connection.INSERT_SETTINGS | {"insert_deduplication_token": token(blocks)}
            )
        except Exception as error:
            raise errors.failure(error) from error
        now = datetime.now(UTC)
        self._rows[table.name] += rows.num_rows
        if topic is TopicName.DOCUMENTS:
            self._latency.observe((each for block in blocks for each in times(table, block.entries)), now)
        emit(RowsWritten(table.name, rows.num_rows, rows.nbytes, (now - began).total_seconds()))

    async def close(self) -> None:
        """Close the door for readers, then the engine. Queries that still run are cancelled."""
        if self._facade is not None:
            await self._call(lambda: cancel_queries(self._directory))
            await self._facade.stop()
            self._facade = None
        await self._call(self._disconnect)
        self._thread.shutdown(wait=False)

    def _disconnect(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None
        self._lock.release()

    def counts(self) -> Mapping[str, int]:
        """``rows_TABLE`` and ``fetch_to_row_pNN_ms``.

        Rows are those that the embedded engine held when it was opened, and those that were written since.
        """
        return {f"rows_{table.name}": self._rows[table.name] for table in TABLES.values()} | dict(
            self._latency.counts()
        )

    async def _call(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def token(blocks: Sequence[Block]) -> str:
    """Names the blocks of one statement by the places of all of them; one block's token stays readable."""
    names = [block.token for block in blocks]
    if len(names) == 1:
        return names[0]
    return blake2b("+".join(names).encode(), digest_size=16).hexdigest()
