"""Follow topics without a group: from a bounded number of records before their ends, for whoever only watches."""

from collections.abc import Iterable
from datetime import timedelta

from confluent_kafka import Consumer, KafkaException, TopicPartition

from infra.errors import RetryLater
from infra.kafka.clients import consumer_config
from infra.kafka.inbound import Inbound, from_message
from infra.kafka.topics import TopicName
from infra.settings import Settings

ASK_WITHIN = timedelta(seconds=10)


class Follower:
    """Every partition of some topics. Use it from one thread; close it after use."""

    def __init__(self, settings: Settings, client_id: str, topics: Iterable[TopicName], back: int) -> None:
        """Begins ``back`` records before the end of each partition. Raises :class:`RetryLater`."""
        self._consumer = Consumer(consumer_config(settings, client_id, group=client_id))
        try:
            self._consumer.assign(self._places(list(topics), back))
        except KafkaException as error:
            self._consumer.close()
            raise RetryLater(f"Kafka does not tell the ends of topics: {error.args[0].str()}") from None

    def _places(self, topics: list[TopicName], back: int) -> list[TopicPartition]:
        wait_s = ASK_WITHIN.total_seconds()
        metadata = self._consumer.list_topics(timeout=wait_s)
        places: list[TopicPartition] = []
        for name in topics:
            for number in metadata.topics[name].partitions if name in metadata.topics else ():
                place = TopicPartition(name, number)
                low, high = self._consumer.get_watermark_offsets(place, timeout=wait_s)
                places.append(TopicPartition(name, number, max(low, high - back)))
        return places

    def read(self, timeout: timedelta, limit: int = 2_000) -> list[Inbound]:
        """What came since the last call, at most ``limit`` records; waits up to ``timeout`` for the first."""
        return [
            from_message(message)
            for message in self._consumer.consume(limit, timeout.total_seconds())
            if message.error() is None
        ]

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()


def newest(settings: Settings, client_id: str, topic: TopicName, count: int) -> list[Inbound]:
    """About the last ``count`` records of each partition of ``topic``, oldest first by their timestamps.

    Raises :class:`RetryLater`.
    """
    follower = Follower(settings, client_id, [topic], count)
    found: list[Inbound] = []
    try:
        # The first answer takes a connection; what follows is in the client's queue already.
        wait = timedelta(seconds=2)
        while batch := follower.read(wait):
            found += batch
            wait = timedelta(milliseconds=200)
    finally:
        follower.close()
    return sorted(found, key=lambda record: record.timestamp_ms)
