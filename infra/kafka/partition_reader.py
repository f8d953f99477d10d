"""Read one partition of a topic, without a group, from an offset to its end of this moment."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from infra.errors import Fatal, RetryLater
from infra.kafka.clients import consumer_config
from infra.kafka.inbound import Inbound, from_message
from infra.kafka.partitioner import partition_of
from infra.settings import Settings

_STALL = timedelta(seconds=30)


class PartitionReader:
    """One partition. Close it after use. Raises :class:`RetryLater` when Kafka does not tell what there is."""

    def __init__(self, settings: Settings, worker: str, topic: str, partition: int) -> None:
        config = consumer_config(settings, f"{worker}-{topic}-{partition}", f"{worker}-reader")
        self._consumer = Consumer(config | {"enable.partition.eof": True})
        self._place = TopicPartition(topic, partition)
        try:
            low, high = self._consumer.get_watermark_offsets(self._place, timeout=_STALL.total_seconds())
        except KafkaException as error:
            raise RetryLater(f"the ends of {topic} cannot be read: {error.args[0].str()}") from None
        self.start = int(low)
        """The first offset that is kept."""
        self.end = int(high)
        """The offset after the last record, when this was opened."""

    def offset_at(self, moment: datetime) -> int:
        """The first offset whose record is not older than ``moment``, by its timestamp; the end when all are."""
        asked = TopicPartition(self._place.topic, self._place.partition, int(moment.timestamp() * 1000))
        [found] = self._consumer.offsets_for_times([asked], timeout=_STALL.total_seconds())
        return self.end if found.offset < 0 else int(found.offset)

    def read(self, offset: int) -> Iterator[list[Inbound]]:
        """Every record from ``offset`` to :attr:`end`, in batches. Raises :class:`Fatal` on silence."""
        if offset >= self.end:
            return
        self._consumer.assign([TopicPartition(self._place.topic, self._place.partition, max(offset, self.start))])
        place = offset
        while place < self.end:
            messages = self._consumer.consume(10_000, 0.1) or self._consumer.consume(1, _STALL.total_seconds())
            if not messages:
                raise Fatal(f"{self._place.topic} cannot be read to its end: Kafka sends nothing")
            batch: list[Inbound] = []
            for message in messages:
                error = message.error()
                if error is not None:
                    # Compaction may have taken the last records: the end is where nothing follows.
                    if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001  # it has no other name
                        place = self.end
                        continue
                    raise Fatal(f"{self._place.topic} cannot be read: {error.str()}")
                batch.append(from_message(message))
                place = max(place, batch[-1].offset + 1)
            yield batch

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()


def records_between(
    settings: Settings,
    topic: str,
    partition: int,
    first: int | datetime = 0,
    end: int | datetime | None = None,
) -> Iterator[Inbound]:
    """The records of a partition from ``first`` to ``end`` (exclusive; the present end by default).

    A time is that of the first record which is not older.
    """
    reader = PartitionReader(settings, "odradek-lookup", topic, partition)
    try:
        end = reader.offset_at(end) if isinstance(end, datetime) else end
        for batch in reader.read(reader.offset_at(first) if isinstance(first, datetime) else first):
            for record in batch:
                if end is not None and record.offset >= end:
                    return
                yield record
    finally:
        reader.close()


def records_of(
    settings: Settings, topic: str, key: bytes, partitions: int, since: datetime | None = None
) -> Iterator[Inbound]:
    """Every record of ``topic`` under ``key``, in order, from ``since`` on. Reads the whole partition of the key."""
    found = records_between(settings, topic, partition_of(key, partitions), since or 0)
    return (record for record in found if record.key == key)
