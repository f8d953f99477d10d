"""Create the topics, and show where a cluster differs from ``topics.toml``."""

import time
from datetime import timedelta
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.cimpl import NewTopic

from infra.errors import UserError
from infra.kafka.clients import bootstrap_servers, common_config
from infra.kafka.topics import TopicName, all_topics
from infra.settings import Settings


class Drift(NamedTuple):
    """One difference between the file and the cluster."""

    topic: str
    setting: str
    wanted: str
    found: str


class Cluster(NamedTuple):
    """What a cluster says of itself."""

    cluster_id: str
    partitions: dict[str, int]
    """Of every topic."""


class Topics:
    """The topics of one cluster."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client = AdminClient(common_config(settings, "odradek-topics"))

    def partition_counts(self, timeout: timedelta = timedelta(seconds=10)) -> dict[str, int]:
        """Every topic of the cluster and its partitions. Raises :class:`UserError` when Kafka does not answer."""
        return self.cluster(timeout).partitions

    def cluster(self, timeout: timedelta = timedelta(seconds=10)) -> Cluster:
        """Who answers, and with which topics. Raises :class:`UserError` when nobody does."""
        try:
            metadata = self._client.list_topics(timeout=timeout.total_seconds())
        except KafkaException as error:
            where = bootstrap_servers(self._settings)
            raise UserError(f"Kafka at {where} does not answer: {error.args[0].str()}") from None
        partitions = {name: len(topic.partitions) for name, topic in metadata.topics.items()}
        return Cluster(metadata.cluster_id or "", partitions)

    def create(self) -> list[str]:
        """Create what is missing; returns the names. What exists is left as it is (see :meth:`drift`)."""
        shared = self._settings.kafka.partitions
        present = self.partition_counts()
        wanted = [
            NewTopic(
                name,
                num_partitions=topic.partition_count(shared),
                replication_factor=self._settings.kafka.replication_factor,
                config=topic.broker_config(shared),
            )
            for name, topic in all_topics().items()
            if name not in present
        ]
        created: list[str] = []
        for name, future in (self._client.create_topics(wanted, operation_timeout=30) if wanted else {}).items():
            try:
                future.result()
                created.append(name)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise UserError(f"topic {name} cannot be created: {error.args[0].str()}") from None
        self.wait_for_leaders()
        return created

    def wait_for_leaders(self, within: timedelta = timedelta(seconds=30)) -> None:
        """Return when every partition of our topics answers.

        A new one, or one of a broker that has just started, has no leader for a moment, and clients trip over it.
        """
        counts = self.partition_counts()
        places = [TopicPartition(name, number) for name in all_topics() for number in range(counts.get(name, 0))]
        if not places:
            return
        deadline = time.monotonic() + within.total_seconds()
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # the library has no annotation here
        while True:
            try:
                futures = self._client.list_offsets(dict.fromkeys(places, latest), request_timeout=10)
                for future in futures.values():
                    future.result()
            except KafkaException as error:
                if time.monotonic() > deadline:
                    raise UserError(f"topics have no leaders: {error.args[0].str()}") from None
                time.sleep(0.1)
            else:
                return

    def drift(self) -> list[Drift]:
        """Where the cluster differs: missing topics, other partition counts, other settings."""
        shared = self._settings.kafka.partitions
        present = self.partition_counts()
        found: list[Drift] = []
        for name, topic in all_topics().items():
            if name not in present:
                found.append(Drift(name, "topic", "present", "missing"))
                continue
            if present[name] != topic.partition_count(shared):
                found.append(Drift(name, "partitions", str(topic.partition_count(shared)), str(present[name])))
        found += self._config_drift([name for name in all_topics() if name in present])
        return found

    def _config_drift(self, names: list[TopicName]) -> list[Drift]:
        if not names:
            return []
        resources = {ConfigResource(ConfigResource.Type.TOPIC, name.value): name for name in names}
        found: list[Drift] = []
        for resource, future in self._client.describe_configs(list(resources)).items():
            name = TopicName(resource.name)
            actual = future.result()
            for setting, wanted in all_topics()[name].broker_config(self._settings.kafka.partitions).items():
                value = actual[setting].value if setting in actual else "unset"
                if value != wanted:
                    found.append(Drift(name, setting, wanted, value))
        return found
