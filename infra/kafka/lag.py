"""How far each consumer group is behind: committed offsets against the ends of the topics."""

import time
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from infra.errors import RetryLater
from infra.kafka.clients import common_config, consumer_config, is_transient
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.settings.stores import stores

GROUPS: dict[str, tuple[TopicName, ...]] = {
    "odradek-streams": (TopicName.SEEDS, TopicName.PAGES),
    "odradek-frontier": (TopicName.LINKS, TopicName.FETCHES),
    "odradek-fetchers": (TopicName.URLS,),
    "odradek-renderers": (TopicName.RENDERS,),
    "odradek-sink-clickhouse": (TopicName.DOCUMENTS, TopicName.FETCHES, TopicName.EVENTS),
}
"""Every consumer group of the pipeline with the stores that are configured by default, and what it reads."""

SINK_GROUP = "odradek-sink-"
"""What the group of a store begins with; its name follows."""

Place = tuple[str, int]


def groups(settings: Settings) -> dict[str, tuple[TopicName, ...]]:
    """The groups of the pipeline with the stores that are written to now. Raises :class:`UserError` as those do."""
    stages = {name: topics for name, topics in GROUPS.items() if not name.startswith(SINK_GROUP)}
    found = stores(settings.sinks).items()
    return stages | {f"{SINK_GROUP}{name}": tuple(map(TopicName, store.topics)) for name, store in found}


class Offsets(NamedTuple):
    """One look at the cluster. ``committed`` lacks a partition that its group never committed."""

    ends: Mapping[Place, int]
    starts: Mapping[Place, int]
    committed: Mapping[str, Mapping[Place, int]]
    groups: Mapping[str, tuple[TopicName, ...]] = GROUPS

    def lag(self, group: str) -> dict[str, int]:
        """Records of each topic that the group has still to do."""
        behind: dict[str, int] = {}
        positions = self.committed[group]
        for topic in self.groups[group]:
            behind[topic] = sum(
                max(0, end - positions.get(place, self.starts[place]))
                for place, end in self.ends.items()
                if place[0] == topic
            )
        return behind


class LagReader:
    """Reads :class:`Offsets`, with few requests whatever the number of partitions; keeps its connections open."""

    def __init__(
        self,
        settings: Settings,
        only: Mapping[str, tuple[TopicName, ...]] | None = None,
        also: Iterable[TopicName] = (),
    ) -> None:
        """``only`` these groups instead of all; of ``also`` the ends are read too, which no group reads."""
        self._admin = AdminClient(common_config(settings, "odradek-lag"))
        self._groups = groups(settings) if only is None else only
        self._also = tuple(also)
        # A consumer that never joins its group, to ask for the group's offsets: the admin client's own call for them
        # ends the process when the coordinator has moved or is not there yet (librdkafka#5040).
        self._members = {group: Consumer(consumer_config(settings, "odradek-lag", group)) for group in self._groups}

    def read(self, timeout: timedelta = timedelta(seconds=10)) -> Offsets:
        """One look. Raises :class:`infra.errors.RetryLater` when the cluster does not answer in time."""
        deadline = time.monotonic() + timeout.total_seconds()
        while True:
            try:
                return self._read(timeout.total_seconds())
            except KafkaException as error:
                # A group's coordinator that is just loading answers so for a moment.
                if not is_transient(error.args[0]) or time.monotonic() > deadline:
                    raise RetryLater(f"Kafka does not tell offsets: {error.args[0].str()}") from None
                time.sleep(0.1)

    def _read(self, wait_s: float) -> Offsets:
        wanted = {topic.value for topics in (*self._groups.values(), self._also) for topic in topics}
        metadata = self._admin.list_topics(timeout=wait_s)
        places = [
            TopicPartition(name, partition)
            for name in sorted(wanted & set(metadata.topics))
            for partition in metadata.topics[name].partitions
        ]
        # Committed before ends: what moves in between makes the lag too large, never too small.
        committed = {group: self._committed(group, places, wait_s) for group in self._groups}
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # the library has no annotation here
        earliest = OffsetSpec.earliest()  # type: ignore[no-untyped-call]  # nor here
        ends, starts = self._offsets(places, latest, wait_s), self._offsets(places, earliest, wait_s)
        return Offsets(ends, starts, committed, self._groups)

    def _offsets(self, places: list[TopicPartition], spec: OffsetSpec, wait_s: float) -> dict[Place, int]:
        futures = self._admin.list_offsets(dict.fromkeys(places, spec), request_timeout=wait_s) if places else {}
        return {(place.topic, place.partition): future.result().offset for place, future in futures.items()}

    def _committed(self, group: str, places: list[TopicPartition], wait_s: float) -> dict[Place, int]:
        topics = {topic.value for topic in self._groups[group]}
        wanted = [TopicPartition(place.topic, place.partition) for place in places if place.topic in topics]
        offsets = self._members[group].committed(wanted, timeout=wait_s) if wanted else []
        failed = next((each.error for each in offsets if each.error is not None), None)
        if failed is not None:
            raise KafkaException(failed)
        return {(each.topic, each.partition): each.offset for each in offsets if each.offset >= 0}
