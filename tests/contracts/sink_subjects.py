"""The sinks that the contract is held against: how each is made, made to fail once, and read."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from infra.kafka.topics import TopicName
from infra.settings import Settings, SinkSettings
from infra.settings.sinks import ClickHouseSettings
from schemas.records import Document
from sinks.clickhouse.connection import connect_embedded
from sinks.clickhouse.embedded import Query, run
from sinks.clickhouse.facade import Facade
from sinks.clickhouse.sink import ClickHouseSink
from sinks.memory.sink import MemorySink
from sinks.sink import Block, Sink
from sinks.tables import TABLES


class Subject(Protocol):
    """A sink under test, how to make its next write fail once, and how to read what is in it."""

    sink: Sink

    def fail_once(self, error: Exception) -> None: ...

    def rows(self, topic: TopicName) -> int: ...

    def texts(self) -> list[str]: ...


class MemorySubject:
    def __init__(self, tmp_path: Path) -> None:
        del tmp_path
        self.memory = MemorySink(Settings(), "memory:")
        self.sink: Sink = self.memory

    def fail_once(self, error: Exception) -> None:
        self.memory.failures.append(error)

    def rows(self, topic: TopicName) -> int:
        return len(self.memory.rows.get(topic, {}))

    def texts(self) -> list[str]:
        documents = self.memory.rows[TopicName.DOCUMENTS].values()
        return [each.text for each in documents if isinstance(each, Document)]


class ClickHouseSubject:
    def __init__(self, tmp_path: Path) -> None:
        self.directory = tmp_path / "clickhouse"
        self.clickhouse = ClickHouseSink(Settings(data_dir=tmp_path), "clickhouse:")
        self.sink: Sink = self.clickhouse

    def fail_once(self, error: Exception) -> None:
        client = self.clickhouse._client
        original = client.insert_arrow

        def failing(*args: object, **kwargs: object) -> object:
            client.insert_arrow = original
            raise error

        client.insert_arrow = failing

    def rows(self, topic: TopicName) -> int:
        return int(self.ask(f"SELECT count() FROM {TABLES[topic].name}"))

    def texts(self) -> list[str]:
        found = self.ask("SELECT hex(text) FROM documents")
        return [bytes.fromhex(line.decode()).decode() for line in found.splitlines()]

    def ask(self, sql: str) -> bytes:
        return run(self.directory, Query(sql))


class WireSubject(ClickHouseSubject):
    """The code for a server, over HTTP, against the embedded engine behind its door."""

    def __init__(self, tmp_path: Path) -> None:
        super().__init__(tmp_path)
        settings = Settings(data_dir=tmp_path, sinks=SinkSettings(clickhouse=ClickHouseSettings(http_writable=True)))
        self.facade = Facade(self.directory, settings)
        self.sink = self

    async def open(self) -> Mapping[str, int]:
        if not hasattr(self, "url"):
            self.engine = connect_embedded(self.directory)
            self.url = await self.facade.start()
            self.clickhouse = ClickHouseSink(Settings(), f"{self.url}/crawls")
        return await self.clickhouse.open()

    async def close(self) -> None:
        await self.clickhouse.close()
        await self.facade.stop()
        self.engine.close()

    async def write(self, topic: TopicName, blocks: Sequence[Block]) -> None:
        await self.clickhouse.write(topic, blocks)

    def ask(self, sql: str) -> bytes:
        return run(self.directory, Query(sql, database="crawls"))
