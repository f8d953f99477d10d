"""Send records, and know when the broker has them."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import Producer as Client

from infra.errors import NeverValid, RetryLater, UserError
from infra.kafka.clients import is_transient, producer_config
from infra.kafka.topics import all_topics
from infra.settings import Settings

Delivered = Callable[[KafkaError | None], None]
Placed = Callable[[int], None]
Headers = list[tuple[str, str | bytes | None]]

_SHORTEST_REST_S = 0.002
_LONGEST_REST_S = 0.1
_REST_S_PER_RATE = 0.0001
"""Seconds of rest for each record per second: 2 ms at 20 records a second, 20 ms at 200, 100 ms at 1,000."""


class Outbound(NamedTuple):
    """A record to send."""

    topic: str
    """A :class:`infra.kafka.topics.TopicName`, but in the cluster of somebody else."""
    key: bytes | None
    value: bytes | None
    headers: Headers = []  # never changed: an empty default is safe and costs nothing
    partition: int = -1
    """-1: by the key."""


class RecordTooLarge(NeverValid):
    """The record is over its topic's limit and will be for ever."""

    def __init__(self, topic: str, size_bytes: int) -> None:
        super().__init__("record_too_large", f"a record of {size_bytes} bytes is over the limit of topic {topic}")


class Producer:
    """One librdkafka producer. :meth:`send` for a thread that polls, :meth:`deliver` for an event loop.

    Its callbacks run wherever :meth:`poll` is called, so one thread or one loop owns an instance.
    """

    def __init__(self, settings: Settings, client_id: str, *, patient: bool = False) -> None:
        """``patient``: a delivery is never given up, however long the broker is away."""
        config = producer_config(settings, client_id)
        self._client = Client(config | {"delivery.timeout.ms": 0} if patient else config)
        self._limits = {name.value: topic.max_record_bytes for name, topic in all_topics().items()}
        self._waiting = 0
        self._pending: deque[tuple[Outbound, _Batch, Delivered]] = deque()
        self._server: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        """Records not yet acknowledged."""
        return len(self._client)

    def send(self, record: Outbound, then: Delivered, placed: Placed | None = None) -> None:
        """Queue a record; ``then`` hears how it ended, ``placed`` at which offset, both from within :meth:`poll`.

        Raises :class:`RecordTooLarge`; :class:`BufferError` when the queue is full, which polling cures.
        """
        size = len(record.value or b"") + len(record.key or b"")
        if size > self._limits.get(record.topic, size):
            raise RecordTooLarge(record.topic, size)
        try:
            self._client.produce(
                record.topic,
                value=record.value,
                key=record.key,
                headers=record.headers or None,
                partition=record.partition,
                on_delivery=lambda error, message: _report(error, message, then, placed),
            )
        except KafkaException as error:
            raise failure(error.args[0], record.topic) from None

    def poll(self, timeout: timedelta = timedelta(0)) -> int:
        """Serve delivery reports; returns how many."""
        return int(self._client.poll(timeout.total_seconds()))

    async def deliver(self, records: Iterable[Outbound]) -> None:
        """Send the records and return when the broker has all of them.

        Raises the failure of the first that could not be delivered (:class:`RetryLater` or :class:`NeverValid`), after
        all have ended. Waits, bounded in memory, while the queue is full.
        """
        batch = _Batch(asyncio.get_running_loop())
        self._waiting += 1
        try:
            self._pending.extend((record, batch, batch.expect(record.topic)) for record in records)
            if self._server is None or self._server.done():
                self._server = asyncio.get_running_loop().create_task(self._serve())
            await batch.ended()
        finally:
            self._waiting -= 1

    async def _serve(self) -> None:
        """Send and poll from the loop as long as anybody waits: no thread, no wake-up for each report."""
        pace = Pace()
        while self._waiting:
            sent = self._send_pending()
            self._client.poll(0)
            await asyncio.sleep(pace.rest_s(sent))

    def _send_pending(self) -> int:
        """Send what waits, as far as the queue takes it; returns how many records."""
        sent = 0
        while self._pending:
            record, batch, then = self._pending[0]
            try:
                self.send(record, then)
            except BufferError:
                break
            except (RetryLater, NeverValid) as error:
                batch.fail(error)
            self._pending.popleft()
            sent += 1
        return sent

    def send_all(self, records: Iterable[Outbound], within: timedelta) -> list[str]:
        """Send the records and wait for the broker; why each that it does not have is missing: empty when it has all.

        For commands, which have nothing else to do. Raises what :meth:`send` raises but for a full queue.
        """
        missing: list[str] = []
        for record in records:
            while True:
                try:
                    self.send(record, lambda error: missing.append(error.str()) if error else None)
                    break
                except BufferError:
                    self.poll(timedelta(milliseconds=100))
        left = self.flush(within)
        return missing + ["Kafka does not answer"] * left

    def flush(self, timeout: timedelta) -> int:
        """Wait for what is queued; returns how many records are still not acknowledged."""
        deadline = time.monotonic() + timeout.total_seconds()
        while (left := self._client.flush(0.1)) and time.monotonic() < deadline:
            pass
        return int(left)


def _report(error: KafkaError | None, message: Message, then: Delivered, placed: Placed | None) -> None:
    offset = message.offset()
    if placed is not None and error is None and offset is not None:
        placed(offset)
    then(error)


class Pace:
    """How long to rest between two bursts of records.

    Each request costs a broker and a consumer the same, whatever it carries. So few records go at once, which is quick,
    and the more there are, the longer are the bursts, which is cheap: nobody notices a tenth of a second where a
    thousand records a second are under way.
    """

    def __init__(self) -> None:
        self._rate = 0.0
        self._rest_s = _SHORTEST_REST_S

    def rest_s(self, sent: int, longest_s: float = _LONGEST_REST_S) -> float:
        """The next rest, after a burst of ``sent`` records; ``longest_s`` where being late costs more than requests."""
        # A smoothed rate: the weight of what was before fades within a fifth of a second, however long the bursts are.
        weight = min(1.0, 5 * self._rest_s)
        self._rate += weight * (sent / self._rest_s - self._rate)
        self._rest_s = min(self._rate * _REST_S_PER_RATE, longest_s, _LONGEST_REST_S)
        self._rest_s = max(self._rest_s, _SHORTEST_REST_S)
        return self._rest_s


class _Batch:
    """The delivery of several records as one future."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._future: asyncio.Future[None] = loop.create_future()
        self._left = 1
        self._failure: Exception | None = None

    def expect(self, topic: str) -> Delivered:
        self._left += 1

        def then(error: KafkaError | None) -> None:
            if error is not None and self._failure is None:
                self._failure = failure(error, topic)
            self._end()

        return then

    def fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        self._end()

    def _end(self) -> None:
        self._left -= 1
        if self._left == 0 and not self._future.done():
            self._future.set_result(None)

    async def ended(self) -> None:
        self._end()
        await self._future
        if self._failure is not None:
            raise self._failure


def failure(error: KafkaError, topic: str) -> Exception:
    """What a Kafka error means for the record that met it."""
    if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
        return NeverValid("record_too_large", f"the broker's limit of topic {topic} is lower than the pipeline's own")
    if error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):  # noqa: SLF001  # librdkafka's own codes have no other name
        return RetryLater(f"topic {topic} does not exist: run `odradek topics create`")
    if error.code() == KafkaError._AUTHENTICATION:  # noqa: SLF001
        return UserError(f"Kafka refuses us: {error.str()}")
    if is_transient(error):
        return RetryLater(f"Kafka did not take a record of {topic}: {error.str()}")
    return RetryLater(f"Kafka did not take a record of {topic}: {error.name()}")
