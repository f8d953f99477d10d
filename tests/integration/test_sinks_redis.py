"""Redis when it is killed, hangs, is full, loads its data or refuses us: nothing is lost, nothing doubled."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from uuid import uuid4

import pytest
import structlog

from infra.errors import RetryLater, UserError
from infra.kafka.topics import TopicName
from infra.settings import Settings
from sinks.redis import sink as redis_sink
from sinks.redis.sink import RedisSink, taken_apart
from sinks.sink import Block
from tests.stores.redis import RedisServer
from tests.stores.servers import Servers
from tests.unit.sinks.sink_samples import block, block_of, document

DOCUMENTS = TopicName.DOCUMENTS


@pytest.fixture
def own() -> Iterator[RedisServer]:
    """A server that a test may kill."""
    server = RedisServer()
    server.start()
    yield server
    server.remove()


class Store:
    """A prefix and an open sink that writes under it."""

    def __init__(self, server: RedisServer) -> None:
        self.server = server
        self.prefix = f"test-{uuid4().hex}:"
        self.sink = RedisSink(Settings(), server.dsn(self.prefix))

    def rows(self) -> int:
        return len(self.server.keys(f"{self.prefix}documents:*"))

    async def refuses(self, blocks: list[Block]) -> str:
        """The store is in trouble: the rows wait. Returns what is told about it."""
        with pytest.raises(RetryLater) as caught:
            await self.sink.write(DOCUMENTS, blocks)
        assert "s3cret" not in str(caught.value)
        return str(caught.value)


@asynccontextmanager
async def opened(server: RedisServer) -> AsyncIterator[Store]:
    """An open store, closed afterwards whatever state the server is in."""
    store = Store(server)
    await store.sink.open()
    try:
        yield store
    finally:
        await store.sink.close()


def test_a_server_that_is_killed_and_started_again_loses_and_doubles_nothing(own: RedisServer) -> None:
    """A write to a dead server waits; the new one has what was written before and is taught the script again."""

    async def scenario() -> None:
        async with opened(own) as store:
            await store.sink.write(DOCUMENTS, [block(DOCUMENTS, range(50))])
            own.kill()
            await store.refuses([block(DOCUMENTS, range(100))])
            await store.refuses([block(DOCUMENTS, range(100))])
            own.start()
            assert store.rows() == 50
            await store.sink.write(DOCUMENTS, [block(DOCUMENTS, range(100))])
            assert store.rows() == 100

    asyncio.run(scenario())


def test_a_script_that_was_forgotten_is_taught_again(servers: Servers) -> None:
    """Somebody empties the script cache of a running server."""

    async def scenario() -> None:
        async with opened(servers.redis) as store:
            servers.redis.client().script_flush()
            await store.refuses([block(DOCUMENTS, range(10))])
            await store.sink.write(DOCUMENTS, [block(DOCUMENTS, range(10))])
            assert store.rows() == 10

    asyncio.run(scenario())


def test_a_full_server_is_waited_for(own: RedisServer) -> None:
    """Without memory (maxmemory, noeviction) the rows wait; when there is some each is there once."""

    async def scenario() -> None:
        async with opened(own) as store:
            client = own.client()
            used = client.info("memory")["used_memory"]
            client.config_set("maxmemory", used + 200_000)
            large = [block_of(DOCUMENTS, *(document(number, text=f"{number} " * 5_000) for number in range(100)))]
            assert "maxmemory" in await store.refuses(large)
            assert store.rows() < 100
            client.config_set("maxmemory", 0)
            await store.sink.write(DOCUMENTS, large)
            assert store.rows() == 100

    asyncio.run(scenario())


def test_a_server_that_loads_its_data_is_waited_for() -> None:
    """After a restart a server answers LOADING for as long as its data are many."""
    server = RedisServer("--appendonly", "no")
    server.start()

    async def scenario() -> None:
        async with opened(server) as store:
            await store.sink.write(DOCUMENTS, [block(DOCUMENTS, range(100))])
            server.client().save()
            server.kill()
            server.options = ("--key-load-delay", "30000", "--loading-process-events-interval-bytes", "1024")
            server.start()
            assert "loading" in (await store.refuses([block(DOCUMENTS, range(120))])).lower()
            await until_it_takes(store, [block(DOCUMENTS, range(120))])
            assert store.rows() == 120

    try:
        asyncio.run(scenario())
    finally:
        server.remove()


async def until_it_takes(store: Store, blocks: list[Block]) -> None:
    """Try again until the store takes the blocks."""
    for _ in range(200):
        with suppress(RetryLater):
            await store.sink.write(DOCUMENTS, blocks)
            return
        await asyncio.sleep(0.1)
    raise AssertionError(store.server.log())


def test_a_server_that_answers_nothing_is_given_up(own: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that hangs with its connections open holds a write no longer than the limit."""
    monkeypatch.setattr(redis_sink, "ANSWER_WITHIN", timedelta(seconds=1))

    async def scenario() -> None:
        async with opened(own) as store:
            own.freeze()
            try:
                await store.refuses([block(DOCUMENTS, range(10))])
                await store.refuses([block(DOCUMENTS, range(10))])
            finally:
                own.thaw()
            await store.sink.write(DOCUMENTS, [block(DOCUMENTS, range(10))])
            assert store.rows() == 10

    asyncio.run(scenario())


def test_a_foreign_value_under_a_key_of_ours_is_no_fault_of_the_record(servers: Servers) -> None:
    """It is neither overwritten nor a reason to throw the record away."""

    async def scenario() -> None:
        async with opened(servers.redis) as store:
            record = document(0)
            key = f"{store.prefix}documents:{record.crawl}:{record.url_id.hex()}:{record.visit}"
            client = servers.redis.client()
            client.set(key, "mine")
            await store.refuses([block_of(DOCUMENTS, record)])
            assert client.get(key) == "mine"
            client.delete(key)
            await store.sink.write(DOCUMENTS, [block_of(DOCUMENTS, record)])
            assert client.hget(key, "url") == record.url

    asyncio.run(scenario())


def test_a_newer_row_keeps_no_field_of_the_older(servers: Servers) -> None:
    """The whole hash is replaced: a title that is gone is gone; lists and maps are JSON."""

    async def scenario() -> None:
        async with opened(servers.redis) as store:
            old = document(1)
            new = document(1, title=None, cleaned_at=old.cleaned_at + timedelta(hours=1))
            await store.sink.write(DOCUMENTS, [block_of(DOCUMENTS, old, new)])
            [key] = servers.redis.keys(f"{store.prefix}documents:*")
            found = servers.redis.client().hgetall(key)
            assert "title" not in found
            assert json.loads(found["links"]) == new.links
            assert json.loads(found["sources"]) == new.sources
            assert found["fetched_at"] == "2026-12-01T12:00:01.000000+00:00"

    asyncio.run(scenario())


def test_a_password_that_is_refused_is_told_at_once(servers: Servers) -> None:
    """Waiting cannot mend a wrong password; the message says so without it."""

    async def scenario() -> None:
        sink = RedisSink(Settings(), servers.redis.dsn(password="wr0ng"))
        try:
            with pytest.raises(UserError, match=r"redis://127\.0\.0\.1") as caught:
                await sink.open()
            assert "wr0ng" not in str(caught.value)
        finally:
            await sink.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("dsn", ["redis://:s3cret@host:port/0", "redis://:s3cret@host/0?no_such_option=1"])
def test_a_dsn_that_nobody_can_read_is_told_without_it(dsn: str) -> None:
    """The client's own message would repeat it."""

    async def scenario() -> None:
        sink = RedisSink(Settings(), dsn)
        try:
            with pytest.raises(UserError) as caught:
                await sink.open()
            assert "s3cret" not in str(caught.value)
        finally:
            await sink.close()

    asyncio.run(scenario())


def test_the_prefix_is_ours_and_the_rest_is_the_clients() -> None:
    """Options of redis-py go through; without a prefix keys begin with the project's name."""
    assert taken_apart("redis://h/1?prefix=a%3A&db=2") == ("redis://h/1?db=2", "a:")
    assert taken_apart("rediss://u:p@h:1/0") == ("rediss://u:p@h:1/0", "odradek:")


def test_a_server_that_forgets_is_told_in_the_log() -> None:
    """Without an append-only file a crash loses rows whose offsets are committed: whoever runs it has to know."""
    server = RedisServer("--appendonly", "no")
    server.start()

    async def scenario() -> None:
        with structlog.testing.capture_logs() as logs:
            async with opened(server):
                pass
        assert [each["log_level"] for each in logs if each["event"].startswith("store forgets")] == ["warning"]

    try:
        asyncio.run(scenario())
    finally:
        server.remove()
