"""A database with an open sink that writes to it."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from infra.errors import RetryLater
from infra.kafka.topics import TopicName
from infra.settings import Settings
from sinks.postgres.sink import PostgresSink
from sinks.sink import Block
from tests.stores.postgres import PostgresServer


class Store:
    """A database and an open sink that writes to it."""

    def __init__(self, server: PostgresServer, options: str = "") -> None:
        self.server = server
        self.database = server.new_database()
        self.sink = PostgresSink(Settings(), server.dsn(self.database) + options)

    def ask(self, sql: str) -> list[tuple[object, ...]]:
        return self.server.ask(self.database, sql)

    def rows(self) -> int:
        [(rows,)] = self.ask("SELECT count(*) FROM documents")
        return int(str(rows))

    def every_row(self, body: str) -> None:
        """Let the server do this before it stores a document."""
        self.ask(
            f"CREATE FUNCTION before_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body}; RETURN NEW; END $$;"
            "CREATE TRIGGER before_row BEFORE INSERT ON documents FOR EACH ROW EXECUTE FUNCTION before_row()"
        )

    def every_row_again_as_it_is(self) -> None:
        self.ask("DROP FUNCTION before_row CASCADE")

    def until_it_writes(self) -> None:
        """Wait until the server is in the middle of a write."""
        busy = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'INSERT%' AND state = 'active'"
        deadline = time.monotonic() + 30
        while not self.ask(busy):
            assert time.monotonic() < deadline

    async def refuses(self, blocks: list[Block]) -> None:
        """The store is in trouble: the rows wait."""
        with pytest.raises(RetryLater) as caught:
            await self.sink.write(TopicName.DOCUMENTS, blocks)
        assert "s3cret" not in str(caught.value)
        assert "crawler:" not in str(caught.value)


@asynccontextmanager
async def opened(server: PostgresServer, options: str = "") -> AsyncIterator[Store]:
    """An open store, closed afterwards whatever state the server is in."""
    store = Store(server, options)
    await store.sink.open()
    try:
        yield store
    finally:
        await store.sink.close()
