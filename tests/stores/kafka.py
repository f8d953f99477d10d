"""Another Kafka cluster for tests."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.cimpl import NewTopic

from infra.devstack.kafka import EmbeddedKafka
from infra.kafka.inbound import Inbound
from infra.kafka.partition_reader import PartitionReader
from infra.kafka.topics import TopicName
from infra.settings import Settings

PARTITIONS = 2


class KafkaServer:
    """Embedded, with a directory of its own."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="odradek-kafka-"))
        self.broker = EmbeddedKafka(self.directory)
        self.broker.start()

    @property
    def settings(self) -> Settings:
        """For clients of this cluster."""
        return Settings(kafka_bootstrap_servers=self.broker.bootstrap_servers)

    def dsn(self, prefix: str) -> str:
        """As a user writes it; the topics are made."""
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap_servers})
        names = [
            f"{prefix}{name}" for name in (TopicName.DOCUMENTS, TopicName.FETCHES, TopicName.EVENTS, TopicName.PAGES)
        ]
        config = {"max.message.bytes": str(12 * 2**20)}
        for future in admin.create_topics([NewTopic(name, PARTITIONS, 1, config=config) for name in names]).values():
            future.result(30)
        self._wait_for_leaders(admin, names)
        return f"kafka://{self.broker.bootstrap_servers}/{prefix}"

    def _wait_for_leaders(self, admin: AdminClient, names: list[str]) -> None:
        places = [TopicPartition(name, number) for name in names for number in range(PARTITIONS)]
        deadline = time.monotonic() + 30
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # the library has no annotation here
        while True:
            try:
                for future in admin.list_offsets(dict.fromkeys(places, latest)).values():
                    future.result(10)
            except KafkaException:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            else:
                return

    def records(self, topic: str) -> Iterator[Inbound]:
        """All that a topic holds."""
        for number in range(PARTITIONS):
            reader = PartitionReader(self.settings, "test", topic, number)
            for batch in reader.read(0):
                yield from batch
            reader.close()

    def remove(self) -> None:
        """End it and forget what it held."""
        self.broker.stop()
        shutil.rmtree(self.directory, ignore_errors=True)
