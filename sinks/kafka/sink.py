"""The sink that writes to topics of another Kafka cluster."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from urllib.parse import parse_qsl, unquote, urlsplit

from infra.errors import RetryLater, UserError
from infra.kafka.admin import Topics
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.sinks import StoreOpened
from sinks.dsn import shown
from sinks.kafka.records import records
from sinks.sink import Block
from sinks.tables import Table, table_of, unstorable

_FLUSH = timedelta(seconds=5)


class KafkaSink:
    """Records go out as this cluster's producers send them: idempotent, acknowledged by all replicas."""

    def __init__(self, settings: Settings, dsn: str) -> None:
        """Raises :class:`UserError` for a DSN that names no server."""
        parts = urlsplit(dsn)
        servers = parts.netloc.rpartition("@")[2]
        if not servers:
            raise UserError(f"{shown(dsn)}: another Kafka is written kafka://HOST:PORT/PREFIX")
        client = dict(parse_qsl(parts.query))
        if parts.username is not None:
            client |= {"sasl.username": unquote(parts.username), "sasl.password": unquote(parts.password or "")}
        self._dsn = dsn
        self._prefix = unquote(parts.path.removeprefix("/"))
        self._here = settings
        self._there = settings.model_copy(
            update={
                "kafka_bootstrap_servers": servers,
                # What is set for the pipeline's own cluster holds there alone: its password is not for others.
                "kafka": settings.kafka.model_copy(update={"client": client}),
            }
        )
        self._producer: Producer | None = None

    async def open(self) -> Mapping[str, int]:
        """See :class:`sinks.sink.Sink`. Refuses to write into the topics that it reads."""
        if self._producer is None:
            try:
                there = await asyncio.to_thread(Topics(self._there).cluster)
            except UserError as error:
                # Whether a broker is away or refuses us it does not say: it is waited for.
                raise RetryLater(str(error)) from None
            if not self._prefix and self._here.kafka_bootstrap_servers:
                here = await asyncio.to_thread(Topics(self._here).cluster)
                if here.cluster_id == there.cluster_id:
                    raise UserError(
                        f"{shown(self._dsn)} is this pipeline's own cluster: its records would go in circles"
                    )
            self._producer = Producer(self._there, "odradek-sink-kafka")
            emit(StoreOpened(shown(self._dsn)))
        return {}

    async def write(self, topic: TopicName, blocks: Sequence[Block]) -> None:
        """See :class:`sinks.sink.Sink`."""
        table = table_of(topic)
        made = [record for block in blocks for record in self._records(table, block)]
        if made:
            if self._producer is None:
                raise AssertionError
            await self._producer.deliver(made)

    async def close(self) -> None:
        """See :class:`sinks.sink.Sink`."""
        if self._producer is not None:
            producer, self._producer = self._producer, None
            await asyncio.to_thread(producer.flush, _FLUSH)

    def _records(self, table: Table, block: Block) -> list[Outbound]:
        try:
            return list(records(table, block, self._prefix))
        except (ValueError, OverflowError) as error:
            # UnicodeEncodeError is a ValueError: a lone surrogate has no bytes.
            raise unstorable(table.name, error) from None
