"""The sinks that hand records on to others, held against the contract."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from uuid import uuid4

from aiohttp import web

from infra.kafka.producer import Outbound
from infra.kafka.topics import TopicName
from infra.settings import Settings
from schemas.records import Document
from schemas.wire import decode
from sinks.kafka.records import ID, VERSION
from sinks.kafka.sink import KafkaSink
from sinks.sink import Sink
from sinks.tables import TABLES
from sinks.webhook.sink import WebhookSink
from tests.stores.servers import Servers


class WebhookSubject:
    """Shared between tests, so the receiver forgets what it had."""

    def __init__(self, tmp_path: Path, servers: Servers) -> None:
        self.receiver = servers.webhook
        self.receiver.forget()
        self.sink: Sink = WebhookSink(Settings(), self.receiver.dsn)

    def fail_once(self, error: Exception) -> None:
        self.receiver.answers.append(web.Response(status=503))

    def rows(self, topic: TopicName) -> int:
        return len(self.receiver.rows.get(TABLES[topic].name, {}))

    def texts(self) -> list[str]:
        return [row["text"] for row in self.receiver.rows["documents"].values()]

    def stored(self, text: str) -> str:
        return text


class KafkaSubject:
    """What a reader of the other cluster finds that folds by the headers."""

    def __init__(self, tmp_path: Path, servers: Servers) -> None:
        self.server = servers.kafka
        self.prefix = f"test-{uuid4().hex[:12]}-"
        self.kafka = KafkaSink(Settings(), self.server.dsn(self.prefix))
        self.sink: Sink = self.kafka

    def fail_once(self, error: Exception) -> None:
        producer = self.kafka._producer
        assert producer is not None
        original = producer.deliver

        async def failing(records: Iterable[Outbound]) -> None:
            producer.deliver = original  # type: ignore[method-assign]
            raise error

        producer.deliver = failing  # type: ignore[method-assign]

    def _latest(self, topic: TopicName) -> dict[bytes, bytes]:
        latest: dict[bytes, tuple[datetime, bytes]] = {}
        for record in self.server.records(f"{self.prefix}{topic}"):
            name, version = record.headers[ID], datetime.fromisoformat(record.headers[VERSION].decode())
            if name not in latest or version > latest[name][0]:
                latest[name] = (version, record.value or b"")
        return {name: value for name, (_, value) in latest.items()}

    def rows(self, topic: TopicName) -> int:
        return len(self._latest(topic))

    def texts(self) -> list[str]:
        return [decode(Document, value).text for value in self._latest(TopicName.DOCUMENTS).values()]

    def stored(self, text: str) -> str:
        return text
