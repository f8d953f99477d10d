"""The sinks that the contract is held against: how each is made, made to fail once, and read."""

import json
import re
import sqlite3
from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import boto3

from infra.kafka.topics import TopicName
from infra.settings import Settings, SinkSettings
from infra.settings.sinks import ClickHouseSettings
from schemas.records import Document
from sinks.blocking import BlockingSink
from sinks.clickhouse.connection import connect_embedded
from sinks.clickhouse.embedded import Query, run
from sinks.clickhouse.facade import Facade
from sinks.clickhouse.sink import ClickHouseSink
from sinks.dynamodb.sink import DynamoDBSink
from sinks.memory.sink import MemorySink
from sinks.objects import reading
from sinks.objects.formats import FORMATS
from sinks.objects.place import place_of
from sinks.objects.sink import ObjectsSink
from sinks.postgres.sink import PostgresSink
from sinks.redis.sink import RedisSink
from sinks.sink import Block, Sink
from sinks.sqlite.sink import SQLiteSink
from sinks.tables import TABLES, Table
from tests.contracts.handing_subjects import KafkaSubject, WebhookSubject
from tests.stores.servers import Servers

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "sinks.md").read_text()
[EXAMPLE] = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
"""The sink that the documentation shows, as it stands there."""


class Subject(Protocol):
    """A sink under test, how to make its next write fail once, and how to read what is in it."""

    sink: Sink

    def fail_once(self, error: Exception) -> None: ...

    def rows(self, topic: TopicName) -> int: ...

    def texts(self) -> list[str]: ...

    def stored(self, text: str) -> str:
        """What a text is in the store, where it cannot be all that it was."""
        ...


class MemorySubject:
    def __init__(self, tmp_path: Path, servers: Servers) -> None:
        self.memory = MemorySink(Settings(), "memory:")
        self.sink: Sink = self.memory

    def fail_once(self, error: Exception) -> None:
        self.memory.failures.append(error)

    def rows(self, topic: TopicName) -> int:
        return len(self.memory.rows.get(topic, {}))

    def texts(self) -> list[str]:
        documents = self.memory.rows[TopicName.DOCUMENTS].values()
        return [each.text for each in documents if isinstance(each, Document)]

    def stored(self, text: str) -> str:
        return text


class BlockingSubject(ABC):
    """Of a sink whose client blocks."""

    sink: Sink
    blocking: BlockingSink

    def fail_once(self, error: Exception) -> None:
        original = self.blocking.insert

        def failing(table: Table, blocks: Sequence[Block]) -> None:
            self.blocking.insert = original  # type: ignore[method-assign]
            raise error

        self.blocking.insert = failing  # type: ignore[method-assign]

    def stored(self, text: str) -> str:
        return text


class ClickHouseSubject(BlockingSubject):
    def __init__(self, tmp_path: Path, servers: Servers) -> None:
        self.directory = tmp_path / "clickhouse"
        self.blocking = ClickHouseSink(Settings(data_dir=tmp_path), "clickhouse:")
        self.sink = self.blocking

    def rows(self, topic: TopicName) -> int:
        return int(self.ask(f"SELECT count() FROM {TABLES[topic].name}"))

    def texts(self) -> list[str]:
        found = self.ask("SELECT hex(text) FROM documents")
        return [bytes.fromhex(line.decode()).decode() for line in found.splitlines()]

    def ask(self, sql: str) -> bytes:
        return run(self.directory, Query(sql))


class WireSubject(ClickHouseSubject):
    """The code for a server, over HTTP, against the embedded engine behind its door."""

    def __init__(self, tmp_path: Path, servers: Servers) -> None:
        super().__init__(tmp_path, servers)
        settings = Settings(data_dir=tmp_path, sinks=SinkSettings(clickhouse=ClickHouseSettings(http_writable=True)))
        self.facade = Facade(self.directory, settings)
        self.sink = self

    async def open(self) -> Mapping[str, int]:
        if not hasattr(self, "url"):
            self.engine = connect_embedded(self.directory)
            self.url = await self.facade.start()
            self.blocking = ClickHouseSink(Settings(), f"{self.url}/crawls")
        return await self.blocking.open()

    async def close(self) -> None:
        await self.blocking.close()
        await self.facade.stop()
        self.engine.close()

    async def write(self, topic: TopicName, blocks: Sequence[Block]) -> None:
        await self.blocking.write(topic, blocks)

    def ask(self, sql: str) -> bytes:
        return run(self.directory, Query(sql, database="crawls"))


class SQLiteSubject(BlockingSubject):
    def __init__(self, tmp_path: Path, servers: Servers) -> None:
        self.blocking = SQLiteSink(Settings(data_dir=tmp_path), "sqlite:")
        self.sink = self.blocking
        self.path = tmp_path / "rows.sqlite"

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path)) as connection:
            return connection.execute(sql).fetchall()

    def rows(self, topic: TopicName) -> int:
        return int(self.ask(f"SELECT count(*) FROM {TABLES[topic].name}")[0][0])

    def texts(self) -> list[str]:
        return [text for (text,) in self.ask("SELECT text FROM documents")]


class PostgresSubject(BlockingSubject):
    def __init__(self, tmp_path: Path, servers: Servers) -> None:
        self.server = servers.postgres
        self.database = self.server.new_database()
        self.blocking = PostgresSink(Settings(), self.server.dsn(self.database))
        self.sink = self.blocking

    def rows(self, topic: TopicName) -> int:
        return int(str(self.server.ask(self.database, f"SELECT count(*) FROM {TABLES[topic].name}")[0][0]))

    def texts(self) -> list[str]:
        return [str(text) for (text,) in self.server.ask(self.database, "SELECT text FROM documents")]

    def stored(self, text: str) -> str:
        return text.replace("\0", "\ufffd")


class ObjectsSubject(BlockingSubject):
    """What a reader finds: of each key the latest version."""

    def __init__(self, dsn: str, tmp_path: Path, format_: str) -> None:
        settings = Settings(data_dir=tmp_path)
        self.blocking = ObjectsSink(settings, dsn)
        self.sink = self.blocking
        self.place = place_of(settings, dsn)
        self.format = FORMATS[format_]

    def rows(self, topic: TopicName) -> int:
        return len(reading.rows(self.place, TABLES[topic], self.format))

    def texts(self) -> list[str]:
        return [row["text"] for row in reading.rows(self.place, TABLES[TopicName.DOCUMENTS], self.format)]


def parquet_in_a_folder(tmp_path: Path, servers: Servers) -> Subject:
    """Parquet in the data directory."""
    return ObjectsSubject("objects:", tmp_path, "parquet")


def json_lines_in_a_folder(tmp_path: Path, servers: Servers) -> Subject:
    """JSON Lines in a folder of their own."""
    return ObjectsSubject(f"file://{tmp_path}/lines?format=jsonl", tmp_path, "jsonl")


def parquet_in_a_bucket(tmp_path: Path, servers: Servers) -> Subject:
    """Parquet in a bucket of S3."""
    return ObjectsSubject(servers.moto.dsn(servers.moto.new_bucket()), tmp_path, "parquet")


class RedisSubject(BlockingSubject):
    def __init__(self, tmp_path: Path, servers: Servers) -> None:
        self.server = servers.redis
        self.prefix = f"test-{uuid4().hex}:"
        self.blocking = RedisSink(Settings(), self.server.dsn(self.prefix))
        self.sink = self.blocking

    def rows(self, topic: TopicName) -> int:
        return len(self.server.keys(f"{self.prefix}{TABLES[topic].name}:*"))

    def texts(self) -> list[str]:
        client = self.server.client()
        return [client.hget(key, "text") for key in self.server.keys(f"{self.prefix}documents:*")]


class DynamoDBSubject(BlockingSubject):
    def __init__(self, tmp_path: Path, servers: Servers) -> None:
        self.prefix = f"test-{uuid4().hex}-"
        self.blocking = DynamoDBSink(Settings(), servers.moto.dynamodb(self.prefix))
        self.sink = self.blocking
        self.client = boto3.client("dynamodb", **self.blocking.options)

    def items(self, topic: TopicName) -> list[dict[str, Any]]:
        pages = self.client.get_paginator("scan").paginate(TableName=f"{self.prefix}{TABLES[topic].name}")
        return [item for page in pages for item in page["Items"]]

    def rows(self, topic: TopicName) -> int:
        return len(self.items(topic))

    def texts(self) -> list[str]:
        return [item["text"]["S"] for item in self.items(TopicName.DOCUMENTS)]


class ExampleSubject(BlockingSubject):
    """The example that docs/sinks.md shows."""

    def __init__(self, tmp_path: Path, servers: Servers) -> None:
        found: dict[str, Any] = {}
        exec(compile(EXAMPLE, "docs/sinks.md", "exec"), found)
        self.blocking = found["FolderSink"](Settings(), f"folder:{tmp_path}/rows")
        self.sink = self.blocking
        self.folder = tmp_path / "rows"

    def rows(self, topic: TopicName) -> int:
        return len(list((self.folder / TABLES[topic].name).glob("*.json")))

    def texts(self) -> list[str]:
        return [json.loads(path.read_text())["text"] for path in (self.folder / "documents").glob("*.json")]


SUBJECTS: dict[str, Callable[[Path, Servers], Subject]] = {
    "memory": MemorySubject,
    "clickhouse": ClickHouseSubject,
    "wire": WireSubject,
    "sqlite": SQLiteSubject,
    "postgres": PostgresSubject,
    "parquet": parquet_in_a_folder,
    "jsonl": json_lines_in_a_folder,
    "s3": parquet_in_a_bucket,
    "redis": RedisSubject,
    "dynamodb": DynamoDBSubject,
    "example": ExampleSubject,
    "webhook": WebhookSubject,
    "kafka": KafkaSubject,
}
"""Every kind of sink; the same contract holds for each."""
