"""A consumer that owns the same partitions of several topics, and keeps its positions itself.

The group subscribes to the first topic alone; the callbacks of its rebalances (cooperative-sticky) take and give back
the same partition numbers of the others. Subscribing to all of them would not co-assign them.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Protocol, TypeVar

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, TopicPartition

from infra.errors import RetryLater, UserError
from infra.kafka.clients import consumer_config, is_transient, judge
from infra.kafka.inbound import Inbound, from_message
from infra.kafka.topics import TopicName
from infra.settings import Settings

Offsets = dict[TopicName, int]
"""The next offset of each topic, of one partition."""

T = TypeVar("T")

_ANSWER = timedelta(seconds=30)


class Owner(Protocol):
    """Who works on the partitions. Called from within :meth:`PartitionOwner.take`."""

    def opened(self, partition: int, committed: Offsets) -> Offsets:
        """The partition is ours: prepare its state. ``committed`` has each topic, from where there are records.

        Returns where to read from, for each topic that should begin elsewhere than ``committed`` says.
        """
        ...

    def closing(self, partition: int, *, lost: bool) -> Offsets:
        """The partition goes to somebody else (``lost``: it is somebody else's already).

        Finish what is begun; returns what may be committed.
        """
        ...


class PartitionOwner:
    """Reads, owns and commits. One thread's own."""

    def __init__(self, settings: Settings, worker: str, group: str, topics: Sequence[TopicName], owner: Owner) -> None:
        self._consumer = Consumer(consumer_config(settings, worker, group) | {"on_commit": self._on_commit})
        self._topics = tuple(topics)
        self._owner = owner
        self._owned: set[int] = set()
        self._committed: dict[tuple[str, int], int] = {}
        self.joined = False

    def start(self) -> None:
        """Join the group."""
        self._consumer.subscribe(
            [self._topics[0]], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )

    def stop(self) -> None:
        """Give everything back and leave."""
        self._consumer.close()

    def partitions(self) -> list[int]:
        """What is owned."""
        return sorted(self._owned)

    def take(self, timeout: timedelta, limit: int = 1_000) -> list[Inbound]:
        """Wait for a record, then take what has arrived; rebalances happen in here.

        Raises :class:`infra.errors.Fatal` or :class:`UserError` for what does not pass by itself.
        """
        first = self._consumer.poll(timeout.total_seconds())
        if first is None:
            return []
        messages = [first, *self._consumer.consume(limit, 0)]
        for message in messages:
            if (error := message.error()) is not None:
                judge(error)
        return [from_message(message) for message in messages if message.error() is None]

    def commit(self, partition: int, offsets: Mapping[TopicName, int], *, wait: bool) -> None:
        """Commit what moved since the last commit that the broker has confirmed. Never moves an offset back."""
        moved = [
            TopicPartition(topic, partition, offset)
            for topic, offset in offsets.items()
            if offset > self._committed.get((topic, partition), -1)
        ]
        if not moved:
            return
        try:
            if wait:
                self._confirm(self._consumer.commit(offsets=moved, asynchronous=False))
            else:
                self._consumer.commit(offsets=moved, asynchronous=True)
        except KafkaException:
            # The group moved on: whoever owns the partition now reads on from what is committed.
            return

    def _on_commit(self, error: KafkaError | None, places: list[TopicPartition]) -> None:
        """A commit that is refused during a rebalance is made again."""
        if error is None:
            self._confirm(places)

    def _confirm(self, places: list[TopicPartition]) -> None:
        for each in places:
            place = (each.topic, each.partition)
            if each.error is None and each.partition in self._owned:
                self._committed[place] = max(self._committed.get(place, -1), each.offset)

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.joined = True
        numbers = [each.partition for each in partitions]
        places = [TopicPartition(topic, number) for number in numbers for topic in self._topics]
        begin: list[TopicPartition] = []
        befores: dict[int, Offsets] = {}
        committed = _retry(lambda: consumer.committed(places, timeout=_ANSWER.total_seconds())) if places else []
        known = {(each.topic, each.partition): each.offset for each in committed if each.offset != OFFSET_INVALID}
        for number in numbers:
            ends = {topic: self._ends(consumer, topic, number) for topic in self._topics}
            # What retention has taken is not waited for.
            before = {topic: max(known.get((topic, number), low), low) for topic, (low, _) in ends.items()}
            befores[number] = before
            wanted = before | self._owner.opened(number, before)
            for topic, (low, high) in ends.items():
                begin.append(TopicPartition(topic, number, min(max(wanted[topic], low), high)))
                self._committed[topic, number] = known.get((topic, number), -1)
        self._owned.update(numbers)
        consumer.incremental_assign(begin)
        # Lag of a group that never committed cannot be read from outside. Where the owner's state is ahead of that it
        # may still owe records, so it says itself when that may be committed.
        for number, before in befores.items():
            self.commit(number, before, wait=False)

    def _ends(self, consumer: Consumer, topic: TopicName, number: int) -> tuple[int, int]:
        place = TopicPartition(topic, number)
        low, high = _retry(lambda: consumer.get_watermark_offsets(place, timeout=_ANSWER.total_seconds()))
        return int(low), int(high)

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._give(consumer, partitions, lost=False)

    def _lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._give(consumer, partitions, lost=True)

    def _give(self, consumer: Consumer, partitions: list[TopicPartition], *, lost: bool) -> None:
        numbers = [each.partition for each in partitions if each.partition in self._owned]
        for number in numbers:
            offsets = self._owner.closing(number, lost=lost)
            if not lost:
                self.commit(number, offsets, wait=True)
            self._owned.discard(number)
        places = [TopicPartition(topic, number) for number in numbers for topic in self._topics]
        if places:
            consumer.incremental_unassign(places)


def _retry(ask: Callable[[], T]) -> T:
    """Ask the broker until it answers: a coordinator or leader that just changed answers a moment later."""
    deadline = time.monotonic() + _ANSWER.total_seconds()
    while True:
        try:
            return ask()
        except KafkaException as error:
            if not is_transient(error.args[0]) or time.monotonic() > deadline:
                raise UserError(f"Kafka does not tell what the frontier owns: {error.args[0].str()}") from None
            time.sleep(0.2)


class GroupOffsets:
    """What another group has committed of one topic, asked from outside."""

    def __init__(self, settings: Settings, worker: str, group: str, topic: TopicName) -> None:
        self._consumer = Consumer(consumer_config(settings, f"{worker}-{group}", group))
        self._topic = topic

    def committed(self, partition: int) -> int:
        """The next offset that the group would read; 0 when it never committed. Raises :class:`RetryLater`."""
        place = TopicPartition(self._topic, partition)
        try:
            [found] = self._consumer.committed([place], timeout=_ANSWER.total_seconds())
        except KafkaException as error:
            raise RetryLater(f"the offsets of another group cannot be read: {error.args[0].str()}") from None
        return max(0, found.offset)

    def end(self, partition: int, topic: TopicName) -> int:
        """The offset after the last record of any topic. Raises :class:`RetryLater`."""
        place = TopicPartition(topic, partition)
        try:
            _, high = self._consumer.get_watermark_offsets(place, timeout=_ANSWER.total_seconds())
        except KafkaException as error:
            raise RetryLater(f"the end of {topic} cannot be read: {error.args[0].str()}") from None
        return int(high)

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()
