"""DynamoDB when it hangs, forgets, is slow, or cannot hold an item."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import uuid4

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError

from infra.errors import NeverValid, RetryLater, UserError
from infra.kafka.topics import TopicName
from infra.settings import Settings
from sinks.dynamodb import sink as dynamodb_sink
from sinks.dynamodb.errors import REFUSED, judge
from sinks.dynamodb.sink import DynamoDBSink, client_options
from sinks.judging import Verdict
from sinks.sink import Block
from tests.stores.moto import MotoServer
from tests.stores.servers import Servers
from tests.unit.sinks.sink_samples import block, block_of, document

DOCUMENTS = TopicName.DOCUMENTS


@pytest.fixture
def own() -> Iterator[MotoServer]:
    """A server that a test may kill; it forgets everything then."""
    server = MotoServer()
    server.start()
    yield server
    server.remove()


class Store:
    """A prefix and an open sink that writes to its tables."""

    def __init__(self, server: MotoServer) -> None:
        self.prefix = f"test-{uuid4().hex}-"
        self.sink = DynamoDBSink(Settings(), server.dynamodb(self.prefix))
        self.client = boto3.client("dynamodb", **self.sink.options)

    def items(self) -> list[dict[str, Any]]:
        pages = self.client.get_paginator("scan").paginate(TableName=f"{self.prefix}documents")
        return [item for page in pages for item in page["Items"]]

    async def refuses(self, blocks: list[Block]) -> str:
        """The store is in trouble: the rows wait. Returns what is told about it."""
        with pytest.raises(RetryLater) as caught:
            await self.sink.write(DOCUMENTS, blocks)
        assert "hush" not in str(caught.value)
        return str(caught.value)


@asynccontextmanager
async def opened(server: MotoServer) -> AsyncIterator[Store]:
    """An open store, closed afterwards whatever state the server is in."""
    store = Store(server)
    await store.sink.open()
    try:
        yield store
    finally:
        await store.sink.close()


def test_tables_that_are_gone_are_made_again(own: MotoServer) -> None:
    """A server that is dead is waited for; one that came back with nothing is given its tables, and the rows."""

    async def scenario() -> None:
        async with opened(own) as store:
            await store.sink.write(DOCUMENTS, [block(DOCUMENTS, range(20))])
            own.kill()
            await store.refuses([block(DOCUMENTS, range(40))])
            own.start()
            await store.sink.write(DOCUMENTS, [block(DOCUMENTS, range(40))])
            assert len(store.items()) == 40
            store.client.delete_table(TableName=f"{store.prefix}documents")
            await store.refuses([block(DOCUMENTS, range(10))])
            await store.sink.write(DOCUMENTS, [block(DOCUMENTS, range(10))])
            assert len(store.items()) == 10

    asyncio.run(scenario())


def test_a_server_that_answers_nothing_is_given_up(own: MotoServer) -> None:
    """A server that hangs with its connections open holds a write no longer than the limit."""

    async def scenario() -> None:
        async with opened(own) as store:
            own.freeze()
            try:
                await store.refuses([block(DOCUMENTS, range(10))])
            finally:
                own.thaw()
            await store.sink.write(DOCUMENTS, [block(DOCUMENTS, range(10))])
            assert len(store.items()) == 10

    asyncio.run(scenario())


def test_a_write_that_takes_long_comes_further_each_time(own: MotoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was stored before the limit stays, so a slow table takes a large write in the end."""
    monkeypatch.setattr(dynamodb_sink, "WRITE_WITHIN", timedelta(0))

    async def scenario() -> None:
        async with opened(own) as store:
            assert "takes less" in await store.refuses([block(DOCUMENTS, range(100))])
            assert len(store.items()) == 4 * dynamodb_sink.AT_ONCE
            monkeypatch.setattr(dynamodb_sink, "WRITE_WITHIN", timedelta(seconds=15))
            await store.sink.write(DOCUMENTS, [block(DOCUMENTS, range(100))])
            assert len(store.items()) == 100

    asyncio.run(scenario())


def test_a_document_that_no_item_can_hold_is_never_valid(servers: Servers) -> None:
    """400 KiB are the limit of an item; its neighbours are stored."""
    large = document(1, text="x" * 500_000)

    async def scenario() -> None:
        async with opened(servers.moto) as store:
            with pytest.raises(NeverValid, match="Item size") as caught:
                await store.sink.write(DOCUMENTS, [block_of(DOCUMENTS, document(0), large)])
            assert caught.value.reason == "refused_by_store"
            await store.sink.write(DOCUMENTS, [block_of(DOCUMENTS, document(0), document(2))])
            assert len(store.items()) == 2

    asyncio.run(scenario())


def test_an_item_reads_as_the_record(servers: Servers) -> None:
    """Lists are lists, maps are maps, numbers numbers; what a record does not have is missing."""
    record = document(3, link_density=0.25)

    async def scenario() -> None:
        async with opened(servers.moto) as store:
            await store.sink.write(DOCUMENTS, [block_of(DOCUMENTS, record, first=7)])
            [item] = store.items()
            assert item["id"] == {"S": f"test:{record.url_id.hex()}:0"}
            assert item["links"] == {"L": [{"S": link} for link in record.links]}
            assert item["sources"] == {"M": {name: {"S": value} for name, value in record.sources.items()}}
            assert (item["link_density"], item["simhash"]) == ({"N": "0.25"}, {"N": "-3"})
            assert (item["kafka_partition"], item["kafka_offset"]) == ({"N": "0"}, {"N": "7"})
            assert "parent" not in item

    asyncio.run(scenario())


def error(code: str, message: str = "") -> ClientError:
    """As botocore raises it."""
    return ClientError({"Error": {"Code": code, "Message": message}}, "PutItem")


@pytest.mark.parametrize(
    "code",
    [
        *(
            "ThrottlingException",
            "ProvisionedThroughputExceededException",
            "RequestLimitExceeded",
            "LimitExceededException",
        ),
        *("InternalServerError", "ResourceNotFoundException", "ExpiredTokenException", "ServiceUnavailable"),
        *("ValidationException", "SomethingNew"),
    ],
)
def test_trouble_of_the_service_waits(code: str) -> None:
    """Throttling, a missing table, a token that expired, a table of another shape: the rows are good."""
    assert judge(error(code, "The provided key element does not match the schema")) is Verdict.TROUBLE
    assert judge(EndpointConnectionError(endpoint_url="http://x")) is Verdict.TROUBLE


@pytest.mark.parametrize("code", sorted(REFUSED))
def test_credentials_that_are_refused_are_nothing_to_wait_for(code: str) -> None:
    """Whoever set them has to mend them."""
    assert judge(error(code)) is Verdict.REFUSED
    assert judge(NoCredentialsError()) is Verdict.REFUSED


def test_what_a_dsn_means() -> None:
    """Region, credentials if any, another endpoint, and the prefix of the tables."""
    assert client_options("dynamodb://eu-central-1") == ({"region_name": "eu-central-1"}, "odradek_")
    assert client_options("dynamodb://k:s%2Fx@eu-central-1/crawl-?endpoint=http%3A//h%3A1") == (
        {
            "region_name": "eu-central-1",
            "aws_access_key_id": "k",
            "aws_secret_access_key": "s/x",
            "endpoint_url": "http://h:1",
        },
        "crawl-",
    )


def test_a_dsn_that_names_no_region_is_told_to_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one in the environment there is nothing to connect to."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")

    async def scenario() -> None:
        sink = DynamoDBSink(Settings(), "dynamodb://")
        try:
            with pytest.raises(UserError, match="no region"):
                await sink.open()
        finally:
            await sink.close()

    asyncio.run(scenario())
