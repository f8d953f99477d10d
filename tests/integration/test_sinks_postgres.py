"""PostgreSQL when it is killed, hangs, is slow, full, locked or not ours: nothing is lost, nothing doubled."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest

from infra.errors import NeverValid, UserError
from infra.kafka.topics import TopicName
from infra.settings import Settings
from sinks.postgres.sink import PostgresSink
from tests.stores.postgres import PostgresServer
from tests.stores.postgres_store import opened
from tests.stores.servers import Servers
from tests.unit.sinks.sink_samples import block, block_of, document

DOCUMENTS = TopicName.DOCUMENTS


@pytest.fixture(scope="module")
def own() -> Iterator[PostgresServer]:
    """A server that a test may kill."""
    server = PostgresServer()
    server.start()
    yield server
    server.remove()


def test_a_server_that_is_killed_and_started_again_loses_and_doubles_nothing(own: PostgresServer) -> None:
    """A write to a dead server waits; when the server is back the same write succeeds by a new connection."""

    async def scenario() -> None:
        async with opened(own) as store:
            blocks = [block(DOCUMENTS, range(100))]
            await store.sink.write(DOCUMENTS, [block(DOCUMENTS, range(50))])
            own.kill()
            await store.refuses(blocks)
            await store.refuses(blocks)
            own.start()
            await store.sink.write(DOCUMENTS, blocks)
            assert store.rows() == 100

    asyncio.run(scenario())


def test_a_kill_in_the_middle_of_a_write_leaves_nothing_of_it(own: PostgresServer) -> None:
    """A write is one transaction: cut in the middle none of its rows is there, repeated each is there once."""

    async def scenario() -> None:
        async with opened(own) as store:
            store.every_row("PERFORM pg_sleep(0.02)")
            blocks = [block(DOCUMENTS, range(500))]
            writing = asyncio.create_task(store.refuses(blocks))
            await asyncio.to_thread(store.until_it_writes)
            own.kill()
            await writing
            own.start()
            assert store.rows() == 0
            store.every_row_again_as_it_is()
            await store.sink.write(DOCUMENTS, blocks)
            assert store.rows() == 500

    asyncio.run(scenario())


def test_a_server_that_answers_nothing_is_given_up(own: PostgresServer) -> None:
    """A server that hangs with its connections open holds a write no longer than the limit; then it waits as usual."""

    async def scenario() -> None:
        async with opened(own, "?connect_timeout=2") as store:
            store.sink.answer_within = timedelta(seconds=1)
            own.freeze()
            try:
                await store.refuses([block(DOCUMENTS, range(10))])
                await store.refuses([block(DOCUMENTS, range(10))])
            finally:
                own.thaw()
            await store.sink.write(DOCUMENTS, [block(DOCUMENTS, range(10))])
            assert store.rows() == 10

    asyncio.run(scenario())


def test_a_server_that_is_too_slow_is_asked_again(servers: Servers) -> None:
    """A statement that the server gives up for its time is the store's trouble, not that of a row."""

    async def scenario() -> None:
        async with opened(servers.postgres, "?options=-c%20statement_timeout%3D300") as store:
            store.every_row("PERFORM pg_sleep(0.05)")
            await store.refuses([block(DOCUMENTS, range(100))])
            store.every_row_again_as_it_is()
            await store.sink.write(DOCUMENTS, [block(DOCUMENTS, range(100))])
            assert store.rows() == 100

    asyncio.run(scenario())


@pytest.mark.parametrize("state", ["53100", "53200", "57P03", "40P01", "25006", "42P01", "XX000"])
def test_trouble_of_the_server_is_no_fault_of_a_row(servers: Servers, state: str) -> None:
    """No disk, no memory, starting up, a deadlock, a standby, a missing table, a bug: the rows wait."""

    async def scenario() -> None:
        async with opened(servers.postgres) as store:
            store.every_row(f"RAISE EXCEPTION 'trouble' USING ERRCODE = '{state}'")
            await store.refuses([block(DOCUMENTS, range(10))])
            store.every_row_again_as_it_is()
            await store.sink.write(DOCUMENTS, [block(DOCUMENTS, range(10))])
            assert store.rows() == 10

    asyncio.run(scenario())


def test_a_row_that_the_database_refuses_is_never_valid(servers: Servers) -> None:
    """A constraint of the database's owner speaks against the row, and spoils no neighbour and no connection."""

    async def scenario() -> None:
        async with opened(servers.postgres) as store:
            store.ask("ALTER TABLE documents ADD CHECK (status < 500)")
            with pytest.raises(NeverValid) as caught:
                await store.sink.write(DOCUMENTS, [block_of(DOCUMENTS, document(0), document(1, status=503))])
            assert caught.value.reason == "refused_by_store"
            await store.sink.write(DOCUMENTS, [block_of(DOCUMENTS, document(0))])
            assert store.rows() == 1

    asyncio.run(scenario())


@pytest.mark.parametrize("change", ["password", "database", "user"])
def test_a_dsn_that_the_server_refuses_is_told_at_once(servers: Servers, change: str) -> None:
    """Waiting cannot mend a wrong password or a missing database; the message says so without secrets."""
    server = servers.postgres
    dsn = {
        "password": server.dsn("postgres", "wr0ng"),
        "database": server.dsn("not_there"),
        "user": server.dsn("postgres").replace("crawler", "nobody"),
    }[change]

    async def scenario() -> str:
        sink = PostgresSink(Settings(), dsn)
        try:
            with pytest.raises(UserError) as caught:
                await sink.open()
            return str(caught.value)
        finally:
            await sink.close()

    told = asyncio.run(scenario())
    assert "127.0.0.1" in told
    assert not any(secret in told for secret in ("wr0ng", "s3cret", "nobody", "crawler"))


def test_a_right_that_is_withdrawn_meanwhile_is_waited_for(own: PostgresServer) -> None:
    """Of a store that was open once a refusal passes: the rows wait until somebody mends it."""

    async def scenario() -> None:
        async with opened(own) as store:
            await store.sink.write(DOCUMENTS, [block(DOCUMENTS, range(5))])
            own.ask("postgres", f"ALTER DATABASE {store.database} ALLOW_CONNECTIONS false")
            own.ask(
                "postgres", f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{store.database}'"
            )
            await store.refuses([block(DOCUMENTS, range(10))])
            await store.refuses([block(DOCUMENTS, range(10))])
            own.ask("postgres", f"ALTER DATABASE {store.database} ALLOW_CONNECTIONS true")
            await store.sink.write(DOCUMENTS, [block(DOCUMENTS, range(10))])
            assert store.rows() == 10

    asyncio.run(scenario())


def test_a_dsn_that_nobody_can_read_is_told_without_it() -> None:
    """Libpq's own message would repeat the password."""
    with pytest.raises(UserError) as caught:
        PostgresSink(Settings(), "postgresql://me:s3cret@host:5432/db?no_such_option=1")
    assert "s3cret" not in str(caught.value)
