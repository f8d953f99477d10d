"""Create the topics, and show where a cluster differs from ``topics.toml``."""

import time
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.cimpl import NewTopic

from infra.errors import UserError
from infra.kafka.clients import bootstrap_servers, common_config
from infra.kafka.rights import Kind, rights
from infra.kafka.security import Refusal
from infra.kafka.topics import TopicName, all_topics
from infra.settings import Settings

_ASK_S = 1.0


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
        self._refusal = Refusal()
        config: Any = common_config(settings, "odradek-topics") | {"error_cb": self._refusal}
        self._client = AdminClient(config)

    def partition_counts(self, timeout: timedelta = timedelta(seconds=10)) -> dict[str, int]:
        """Every topic that we may see and its partitions; raises as :meth:`cluster` does."""
        return self.cluster(timeout).partitions

    def cluster(self, timeout: timedelta = timedelta(seconds=10)) -> Cluster:
        """Who answers, and with which topics that we may see.

        Raises :class:`UserError` when Kafka does not answer in time, and as soon as it refuses us.
        """
        deadline = time.monotonic() + timeout.total_seconds()
        while True:
            try:
                metadata = self._client.list_topics(timeout=min(_ASK_S, timeout.total_seconds()))
            except KafkaException as error:
                # Tells the refusal what was heard meanwhile.
                self._client.poll(0)
                where = bootstrap_servers(self._settings)
                if self._refusal.reason is not None:
                    raise UserError(f"Kafka at {where} refuses us: {self._refusal.reason}") from None
                if time.monotonic() > deadline:
                    raise UserError(f"Kafka at {where} does not answer: {error.args[0].str()}") from None
            else:
                partitions = {name: len(topic.partitions) for name, topic in metadata.topics.items()}
                return Cluster(metadata.cluster_id or "", partitions)

    def check(self, component: str) -> None:
        """Raises :class:`UserError` that names what is missing: topics, or rights that the component needs."""
        self.partition_counts()
        wanted = {right.name: right.operations for right in rights(component) if right.kind is Kind.TOPIC}
        absent: list[str] = []
        denied: list[str] = []
        found = self._client.describe_topics(TopicCollection(list(wanted)), include_authorized_operations=True)
        for name, future in found.items():
            try:
                allowed = {each.name for each in future.result().authorized_operations or ()}
            except KafkaException as error:
                if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    absent.append(name)
                elif error.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                    denied += [f"{operation} {name}" for operation in sorted(wanted[name])]
                else:
                    raise UserError(f"Kafka does not tell about topic {name}: {error.args[0].str()}") from None
            else:
                denied += [f"{operation} {name}" for operation in sorted(wanted[name] - allowed)]
        if absent:
            raise UserError(f"Kafka lacks the topics {', '.join(sorted(absent))}: run `odradek topics create`")
        if denied:
            raise UserError(
                f"Kafka does not let us {', '.join(denied)}: grant it to the user of {component}, as "
                "`odradek topics grant` or its KafkaUser does"
            )

    def grant(self, users: Mapping[str, str]) -> int:
        """Allow each component what it needs, to the user that it is; returns how many rules there are then."""
        bindings = [each for component, user in users.items() for each in _bindings(component, user)]
        for future in self._client.create_acls(bindings, request_timeout=30).values():
            try:
                future.result()
            except KafkaException as error:
                raise UserError(f"the access rules cannot be written: {error.args[0].str()}") from None
        return len(bindings)

    def create(self) -> list[str]:
        """Create what is missing; returns the names. What exists is left as it is (see :meth:`drift`)."""
        shared = self._settings.kafka.partitions
        present = self.partition_counts()
        wanted = [
            NewTopic(
                name,
                num_partitions=topic.partition_count(shared),
                replication_factor=self._settings.kafka.replication_factor,
                config=topic.broker_config(shared, self._settings.kafka.replication_factor),
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
        self.wait_for_leaders(expected=all_topics())
        return created

    def wait_for_leaders(
        self, within: timedelta = timedelta(seconds=30), expected: Collection[str] = frozenset()
    ) -> None:
        """Return when every partition of our topics answers, and there are those that are ``expected``.

        A new one, or one of a broker that has just started, has no leader for a moment, and clients trip over it; and
        not every broker hears of a new topic at the same moment.
        """
        deadline = time.monotonic() + within.total_seconds()
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # the library has no annotation here
        while True:
            counts = self.partition_counts()
            absent = sorted(set(expected) - set(counts))
            places = [TopicPartition(name, number) for name in all_topics() for number in range(counts.get(name, 0))]
            why = f"topics {', '.join(absent)} are not there yet" if absent else self._leaderless(places, latest)
            if why is None:
                return
            if time.monotonic() > deadline:
                raise UserError(f"topics have no leaders: {why}")
            time.sleep(0.1)

    def _leaderless(self, places: list[TopicPartition], latest: OffsetSpec) -> str | None:
        """Why some partition does not answer; ``None`` when all do."""
        try:
            futures = self._client.list_offsets(dict.fromkeys(places, latest), request_timeout=10) if places else {}
            for future in futures.values():
                future.result()
        except KafkaException as error:
            return str(error.args[0].str())
        return None

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
        kafka = self._settings.kafka
        for resource, future in self._client.describe_configs(list(resources)).items():
            name = TopicName(resource.name)
            actual = future.result()
            for setting, wanted in all_topics()[name].broker_config(kafka.partitions, kafka.replication_factor).items():
                value = actual[setting].value if setting in actual else "unset"
                if value != wanted:
                    found.append(Drift(name, setting, wanted, value))
        return found


def _bindings(component: str, user: str) -> list[AclBinding]:
    return [
        AclBinding(
            ResourceType.TOPIC if right.kind is Kind.TOPIC else ResourceType.GROUP,
            right.name,
            ResourcePatternType.PREFIXED if right.prefix else ResourcePatternType.LITERAL,
            f"User:{user}",
            "*",
            AclOperation[operation.value],
            AclPermissionType.ALLOW,
        )
        for right in rights(component)
        for operation in sorted(right.operations)
    ]
