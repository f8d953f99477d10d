"""Set a consumer group back, so that it reads again what it has done: the one place where offsets move backwards."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from infra.errors import UserError
from infra.kafka.clients import consumer_config
from infra.kafka.lag import Place
from infra.kafka.topics import TopicName
from infra.settings import Settings

_WAIT_S = 30.0
_FED = (KafkaError.UNKNOWN_MEMBER_ID, KafkaError.ILLEGAL_GENERATION, KafkaError.REBALANCE_IN_PROGRESS)


class Start(NamedTuple):
    """From where to read again; without a time and without places, from the oldest record that is kept."""

    since: datetime | None = None
    places: Mapping[Place, int] = {}
    """Offsets by topic and partition; then these partitions alone."""

    def of(self, place: Place) -> int | datetime | None:
        """From where in this partition; ``None``: not at all."""
        if self.places:
            return self.places.get(place)
        return 0 if self.since is None else self.since


class Rewound(NamedTuple):
    """One partition that was set back."""

    place: Place
    before: int
    after: int


def rewind(settings: Settings, group: str, topics: Iterable[TopicName], start: Start) -> list[Rewound]:
    """Set the group back; returns what moved. A partition that it never read, or is not past ``start``, stays.

    Raises :class:`UserError` while the group is fed: its members would write their own offsets over it.
    """
    consumer = Consumer(consumer_config(settings, "odradek-rewind", group))
    try:
        places = _places(consumer, topics, start)
        committed = consumer.committed(places, timeout=_WAIT_S) if places else []
        moved: list[Rewound] = []
        for each in committed:
            target = _target(consumer, each, start)
            if target < each.offset:
                moved.append(Rewound((each.topic, each.partition), each.offset, target))
        if moved:
            offsets = [TopicPartition(*each.place, each.after) for each in moved]
            for written in consumer.commit(offsets=offsets, asynchronous=False) or []:
                if written.error is not None:
                    raise KafkaException(written.error)
    except KafkaException as error:
        if error.args[0].code() in _FED:
            raise UserError(f"group {group} is being fed: stop whoever does it, then set it back") from None
        raise UserError(f"group {group} cannot be set back: {error.args[0].str()}") from None
    finally:
        consumer.close()
    return moved


def _places(consumer: Consumer, topics: Iterable[TopicName], start: Start) -> list[TopicPartition]:
    known = consumer.list_topics(timeout=_WAIT_S).topics
    return [
        TopicPartition(topic, number)
        for topic in topics
        if topic in known
        for number in known[topic].partitions
        if start.of((topic, number)) is not None
    ]


def _target(consumer: Consumer, place: TopicPartition, start: Start) -> int:
    low, high = consumer.get_watermark_offsets(place, timeout=_WAIT_S)
    wanted = start.of((place.topic, place.partition))
    if isinstance(wanted, datetime):
        asked = TopicPartition(place.topic, place.partition, int(wanted.timestamp() * 1000))
        [found] = consumer.offsets_for_times([asked], timeout=_WAIT_S)
        wanted = high if found.offset < 0 else found.offset
    return max(int(low), wanted or 0)
