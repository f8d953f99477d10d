"""How far each consumer group is behind: committed offsets against the ends of the topics."""

from collections.abc import Mapping
from typing import NamedTuple

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from infra.kafka.clients import common_config, consumer_config
from infra.kafka.topics import TopicName, all_topics
from infra.settings import Settings

GROUPS: dict[str, tuple[TopicName, ...]] = {
    "odradek-streams": (TopicName.SEEDS, TopicName.PAGES),
    "odradek-frontier": (TopicName.LINKS, TopicName.FETCHES),
    "odradek-fetchers": (TopicName.URLS,),
    "odradek-sink-clickhouse": (TopicName.DOCUMENTS, TopicName.FETCHES, TopicName.EVENTS),
}
"""Every consumer group of the pipeline and what it reads."""

Place = tuple[str, int]


class Offsets(NamedTuple):
    """One look at the cluster. ``committed`` lacks a partition that its group never committed."""

    ends: Mapping[Place, int]
    starts: Mapping[Place, int]
    committed: Mapping[str, Mapping[Place, int]]

    def lag(self, group: str) -> dict[str, int]:
        """Records of each topic that the group has still to do."""
        behind: dict[str, int] = {}
        positions = self.committed[group]
        for topic in GROUPS[group]:
            behind[topic] = sum(
                max(0, end - positions.get(place, self.starts[place]))
                for place, end in self.ends.items()
                if place[0] == topic
            )
        return behind


class LagReader:
    """Reads :class:`Offsets`; keeps its connections open between looks."""

    def __init__(self, settings: Settings, groups: Mapping[str, tuple[TopicName, ...]] = GROUPS) -> None:
        self._admin = AdminClient(common_config(settings, "odradek-lag"))
        self._consumer = Consumer(consumer_config(settings, "odradek-lag", group="odradek-lag"))
        self._groups = groups

    def read(self, timeout_s: float = 10) -> Offsets:
        """One look. Raises :class:`confluent_kafka.KafkaException` when the cluster does not answer."""
        metadata = self._consumer.list_topics(timeout=timeout_s)
        wanted = {topic for topics in self._groups.values() for topic in topics}
        ends: dict[Place, int] = {}
        starts: dict[Place, int] = {}
        committed = {group: self._committed(group) for group in self._groups}
        for name in sorted(wanted & set(all_topics())):
            for partition in metadata.topics[name].partitions if name in metadata.topics else ():
                low, high = self._consumer.get_watermark_offsets(TopicPartition(name, partition), timeout=timeout_s)
                starts[name, partition], ends[name, partition] = low, high
        return Offsets(ends, starts, committed)

    def _committed(self, group: str) -> dict[Place, int]:
        [future] = self._admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
        offsets = future.result().topic_partitions
        return {(each.topic, each.partition): each.offset for each in offsets if each.offset >= 0}

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()
