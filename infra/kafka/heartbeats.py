"""The living workers, read from the ``heartbeats`` topic."""

import time
from datetime import UTC, datetime, timedelta

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, TopicPartition

from infra.kafka.clients import consumer_config
from infra.kafka.topics import TopicName
from infra.settings import Settings
from schemas.records import Heartbeat
from schemas.wire import Undecodable, decode

FIRST_WITHIN = timedelta(seconds=10)
MISSED_BEATS = 10
"""After so many missed heartbeats a worker counts as dead."""


class Heartbeats:
    """Follows the topic without a group. Call :meth:`read` from one thread."""

    def __init__(self, settings: Settings, gone_after: timedelta | None = None) -> None:
        """``gone_after`` which silence a worker is told no more; ``None``: :data:`MISSED_BEATS` of its own beats."""
        self._gone_after = gone_after
        self._consumer = Consumer(consumer_config(settings, "odradek-heartbeats", group="odradek-heartbeats"))
        self._consumer.assign([TopicPartition(TopicName.HEARTBEATS, 0, OFFSET_BEGINNING)])
        self._latest: dict[str, Heartbeat] = {}
        self._position = 0
        self._began = False

    def read(self, timeout: timedelta = timedelta(milliseconds=200)) -> list[Heartbeat]:
        """Everything new, then the newest beat of each living worker, by name.

        The first call reads all that the topic holds, however long the connection takes (up to :data:`FIRST_WITHIN`).
        """
        if not self._began:
            self._began = True
            self._catch_up()
        wait_s = timeout.total_seconds()
        while messages := self._consumer.consume(500, wait_s):
            wait_s = 0.01
            self._take(messages)
        now = datetime.now(UTC)
        self._latest = {name: beat for name, beat in self._latest.items() if self._is_told(beat, now)}
        return sorted(self._latest.values(), key=lambda beat: beat.worker)

    def _is_told(self, beat: Heartbeat, now: datetime) -> bool:
        if self._gone_after is None:
            return is_alive(beat, now)
        return not beat.stopping and now - beat.at < self._gone_after

    def _catch_up(self) -> None:
        deadline = time.monotonic() + FIRST_WITHIN.total_seconds()
        place = TopicPartition(TopicName.HEARTBEATS, 0)
        try:
            _, end = self._consumer.get_watermark_offsets(place, timeout=FIRST_WITHIN.total_seconds())
        except KafkaException:
            # Kafka is away: then nobody's heartbeat is known, and the caller's other questions say why.
            return
        while self._position < end and time.monotonic() < deadline:
            self._take(self._consumer.consume(500, 0.2))

    def _take(self, messages: list[Message]) -> None:
        for message in messages:
            value = message.value()
            if message.error() or not isinstance(value, bytes):
                continue
            self._position = (message.offset() or 0) + 1
            try:
                beat = decode(Heartbeat, value)
            except Undecodable:
                continue
            self._latest[beat.worker] = beat

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()


def is_alive(beat: Heartbeat, now: datetime) -> bool:
    """Whether the worker that sent ``beat`` still lives, as far as one can tell from outside."""
    return not beat.stopping and (now - beat.at).total_seconds() < beat.every_s * MISSED_BEATS
