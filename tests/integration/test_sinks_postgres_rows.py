"""What PostgreSQL holds: the schema, and every value as it was."""

import asyncio

from infra.kafka.topics import TopicName
from infra.settings import Settings
from sinks.postgres.sink import PostgresSink
from sinks.tables import TABLES, Type
from tests.stores.postgres_store import opened
from tests.stores.servers import Servers
from tests.unit.sinks.sink_samples import block, block_of, document

DOCUMENTS = TopicName.DOCUMENTS
TYPES = {
    Type.TEXT: "text",
    Type.INT: "integer",
    Type.LONG: "bigint",
    Type.REAL: "double precision",
    Type.TIME: "timestamp with time zone",
    Type.TEXTS: "ARRAY",
    Type.TEXT_BY_NAME: "jsonb",
}


def test_writers_that_start_together_make_one_schema(servers: Servers) -> None:
    """Several processes open an empty database at once."""
    server = servers.postgres
    database = server.new_database()

    async def scenario() -> None:
        sinks = [PostgresSink(Settings(), server.dsn(database)) for _ in range(5)]
        await asyncio.gather(*(sink.open() for sink in sinks))
        await asyncio.gather(*(sink.write(DOCUMENTS, [block(DOCUMENTS, range(20))]) for sink in sinks))
        await asyncio.gather(*(sink.close() for sink in sinks))

    asyncio.run(scenario())
    assert server.ask(database, "SELECT count(*) FROM documents") == [(20,)]
    assert server.ask(database, "SELECT number FROM migrations ORDER BY number")[0] == (1,)


def test_the_schema_is_that_of_the_tables(servers: Servers) -> None:
    """Every column of every table is there with its type and its key, after all migrations."""

    async def scenario() -> None:
        async with opened(servers.postgres) as store:
            for table in TABLES.values():
                found = store.ask(
                    "SELECT column_name, data_type FROM information_schema.columns "
                    f"WHERE table_name = '{table.name}' AND table_schema = 'public' AND column_name <> 'inserted_at'"
                )
                types = {str(name): str(kind) for name, kind in found}
                assert types == dict(zip(table.names, (TYPES[each] for each in table.types), strict=True))

    asyncio.run(scenario())


def test_a_replay_writes_nothing(servers: Servers) -> None:
    """A row that is there already is not written again: a replay of a year costs no year of disk."""

    async def scenario() -> None:
        async with opened(servers.postgres) as store:
            await store.sink.write(DOCUMENTS, [block(DOCUMENTS, range(50))])
            before = store.ask("SELECT ctid::text, xmin::text FROM documents ORDER BY 1")
            await store.sink.write(DOCUMENTS, [block(DOCUMENTS, range(50))])
            assert store.ask("SELECT ctid::text, xmin::text FROM documents ORDER BY 1") == before

    asyncio.run(scenario())


def test_lists_and_maps_come_back_as_they_were(servers: Servers) -> None:
    """Quotes, backslashes, braces, commas, tabs, line ends, NULL as a word and empty texts end no array."""
    texts = ['a"b', "\\", '\\"', "{}", "a,b", "\t\r\n", "NULL", "", "\\N", "\\.", "\U0001f577", "\u2028"]
    record = document(0, headings=texts, flags=[], links=[""], sources={each: each for each in texts}, title="\\N")

    async def scenario() -> None:
        async with opened(servers.postgres) as store:
            await store.sink.write(DOCUMENTS, [block_of(DOCUMENTS, record)])
            [found] = store.ask("SELECT headings, flags, links, sources, title FROM documents")
            assert found == (record.headings, [], [""], record.sources, "\\N")

    asyncio.run(scenario())


def test_a_url_that_fits_no_index_page_is_stored(servers: Servers) -> None:
    """The key holds the URL's id, so a URL of 100 kB is a row like any other."""
    long = document(0, url="http://h0.test/" + "".join(f"{number}" for number in range(20_000)))

    async def scenario() -> None:
        async with opened(servers.postgres) as store:
            await store.sink.write(DOCUMENTS, [block_of(DOCUMENTS, long)])
            assert store.ask("SELECT url FROM documents") == [(long.url,)]

    asyncio.run(scenario())
