"""The partitions a consumer owns: where each begins, what may be committed, what is paused. One thread's own."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from infra.kafka.lag import Place
from infra.kafka.offsets import UNKNOWN, ContiguousOffsets

_ASK_TIMEOUT_S = 5.0
_ASK_TIMES = 3
_ANSWER_S = 30.0
_EVERYTHING = 2**63


@dataclass
class Owned:
    """One partition for as long as it is ours."""

    offsets: ContiguousOffsets
    epoch: int
    end: int
    """The offset after the last record at the assignment."""
    assigned_s: float
    latest: int = field(default=0)
    """The offset after the last record, as far as the broker has told since."""
    paused: bool = False


class OnChange(Protocol):
    """Hears that the owned partitions changed. ``gone`` are going (their work may still end) or, if ``lost``, gone."""

    def __call__(self, gone: set[Place], *, lost: bool) -> None:
        """Called after each change."""


class Assignment:
    """All of them, and the callbacks of the group's rebalances (cooperative: each call names what changes)."""

    def __init__(self, wait_for_work: Callable[[set[Place]], None], tell_change: OnChange) -> None:
        self._wait_for_work = wait_for_work
        self._tell_change = tell_change
        self._owned: dict[Place, Owned] = {}
        self._epochs = count()
        self._answer_by_s = 0.0
        self.in_flight = 0
        self.behind = False

    def partitions(self) -> list[int]:
        """Their numbers, ascending. Safe from any thread."""
        return sorted(partition for _, partition in list(self._owned))

    def start(self, topic: str, partition: int, offset: int) -> Owned | None:
        """Note that work begins; ``None`` when the record is not ours (any more) or was begun before."""
        owned = self._owned.get((topic, partition))
        if owned is None or not owned.offsets.start(offset):
            return None
        self.in_flight += 1
        return owned

    def done(self, topic: str, partition: int, offset: int, epoch: int) -> None:
        """Note that an effect is durable; ignored for an assignment that is over."""
        owned = self._owned.get((topic, partition))
        if owned is not None and owned.epoch == epoch:
            owned.offsets.done(offset)
            self.in_flight -= 1

    def busy(self, places: set[Place]) -> bool:
        """Whether any of the partitions has work in flight."""
        return any(self._owned[place].offsets.in_flight for place in places if place in self._owned)

    def pause(self, consumer: Consumer) -> None:
        """Stop reading all partitions that are not paused yet."""
        self._set_paused(consumer, [place for place, owned in self._owned.items() if not owned.paused], True)

    def resume(self, consumer: Consumer) -> None:
        """Read again what is paused and not held back by one slow record."""
        places = [place for place, owned in self._owned.items() if owned.paused and not owned.offsets.full]
        self._set_paused(consumer, places, False)

    def _set_paused(self, consumer: Consumer, places: list[Place], paused: bool) -> None:
        if not places:
            return
        change = consumer.pause if paused else consumer.resume
        change([TopicPartition(*place) for place in places])
        for place in places:
            self._owned[place].paused = paused

    def look_ahead(self, consumer: Consumer) -> None:
        """Update :attr:`behind` from what the broker told with its last answers; hold back partitions that are full."""
        self.behind = False
        for place, owned in self._owned.items():
            with suppress(KafkaException):
                _, owned.latest = consumer.get_watermark_offsets(TopicPartition(*place), cached=True)
            self.behind |= owned.latest > max(owned.offsets.position, 0)
        self._set_paused(
            consumer, [p for p, owned in self._owned.items() if owned.offsets.full and not owned.paused], True
        )

    def commit(self, consumer: Consumer, *, wait: bool) -> None:
        """Commit the lowest offset not done of each partition, where the broker has less.

        Without ``wait`` the answer comes to :meth:`on_commit`, and one commit is under way at a time. A failure is no
        error: what is not committed is committed by the next call, or done again by the next owner.
        """
        if time.monotonic() < self._answer_by_s and not wait:
            return
        offsets = [
            TopicPartition(*place, offset)
            for place, owned in self._owned.items()
            if (offset := owned.offsets.committable()) is not None and offset >= 0
        ]
        if not offsets:
            return
        with suppress(KafkaException):
            if wait:
                self._note_committed(consumer.commit(offsets=offsets, asynchronous=False) or [])
            else:
                self._answer_by_s = time.monotonic() + _ANSWER_S
                consumer.commit(offsets=offsets, asynchronous=True)

    def on_commit(self, error: KafkaError | None, places: list[TopicPartition]) -> None:
        """Hear how an asynchronous commit ended: only now it counts."""
        self._answer_by_s = 0.0
        if error is None:
            self._note_committed(places)

    def _note_committed(self, places: list[TopicPartition]) -> None:
        for place in places:
            owned = self._owned.get((place.topic, place.partition))
            if owned is not None and place.error is None:
                owned.offsets.committed(place.offset)

    def on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Take partitions: begin where the group is, else at the first record, which then counts as the position."""
        committed = self._committed(consumer, partitions)
        now_s = time.monotonic()
        for place in partitions:
            known = committed.get((place.topic, place.partition))
            low, high = self._watermarks(consumer, place)
            position = UNKNOWN if known is None else max(known, low)
            if position >= 0:
                place.offset = position
            offsets = ContiguousOffsets(position, UNKNOWN if known is None else known)
            self._owned[place.topic, place.partition] = Owned(offsets, next(self._epochs), high, now_s)
        consumer.incremental_assign(partitions)
        # A pause outlives a revoke inside librdkafka: without this the partition may stall for good.
        consumer.resume(partitions)
        self._tell_change(set(), lost=False)

    def _committed(self, consumer: Consumer, partitions: list[TopicPartition]) -> dict[Place, int]:
        """What the group has committed, ``UNKNOWN`` for nothing; partitions that could not be asked are missing."""
        for _ in range(_ASK_TIMES):
            with suppress(KafkaException):
                found = consumer.committed(partitions, timeout=_ASK_TIMEOUT_S)
                return {(p.topic, p.partition): max(p.offset, UNKNOWN) for p in found if p.error is None}
        return {}

    def _watermarks(self, consumer: Consumer, place: TopicPartition) -> tuple[int, int]:
        """First offset, and the one after the last; where nobody answers every record counts as tried before."""
        for _ in range(_ASK_TIMES):
            with suppress(KafkaException):
                low, high = consumer.get_watermark_offsets(place, timeout=_ASK_TIMEOUT_S)
                return low, high
            # A topic that was just created has no leader yet for a moment.
            time.sleep(0.1)
        return 0, _EVERYTHING

    def on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Give partitions back: let their work end, commit it, forget the rest."""
        places = {(place.topic, place.partition) for place in partitions}
        self._wait_for_work(places)
        self.commit(consumer, wait=True)
        self._forget(places)
        consumer.incremental_unassign(partitions)
        self._tell_change(places, lost=True)

    def on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """They belong to somebody else already: commit nothing."""
        places = {(place.topic, place.partition) for place in partitions}
        self._forget(places)
        consumer.incremental_unassign(partitions)
        self._tell_change(places, lost=True)

    def _forget(self, places: set[Place]) -> None:
        for place in places & set(self._owned):
            self.in_flight -= self._owned.pop(place).offsets.in_flight
