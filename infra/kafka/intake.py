"""Reads topics for an event loop: one thread owns the consumer, the loop owns the work.

The life of a record here::

    consumer thread                                         event loop
    poll, at most as many as there is room for
    note each offset as started                ──batch──>   take(batch)
    note each offset as done                   <──done───   done(received), when the effect is durable
    commit the lowest offset not done, now and then
    partition taken away: wait a moment        ──gone──>    on_gone(partitions, lost=False): begin no more of their work
    commit synchronously, forget the partition ──gone──>    on_gone(partitions, lost=True): stop it

What a lost partition had in flight is forgotten without a commit: its new owner does it again. The decision to stop
reading is taken in the thread, right after each read, by the count of what was handed over and not done: deciding in
the loop overshoots, because it hears late.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import NamedTuple

from confluent_kafka import Consumer, Message

from infra.kafka.assignment import Assignment, OnChange
from infra.kafka.clients import consumer_config, judge
from infra.kafka.inbound import Inbound, from_message
from infra.kafka.lag import Place
from infra.kafka.topics import TopicName
from infra.settings import Settings

_POLL_S = 0.1
_ROUND_S = 0.005
_FULL_WAIT_S = 0.5
_LARGEST_BATCH = 500


class Received(NamedTuple):
    """A record, and what its owner has to know about it."""

    record: Inbound
    epoch: int
    """Of the assignment it belongs to: a partition that comes back has another."""
    assigned_s: float
    """Monotonic time of the assignment."""
    maybe_tried: bool
    """Whether it lies below the partition's end at the assignment: the former owner may have worked on it."""


class IntakeLimits(NamedTuple):
    """How much is taken and how often it is committed."""

    in_flight: int
    commit_every: timedelta = timedelta(seconds=1)
    revoke_grace: timedelta = timedelta(seconds=2)
    """How long a partition that is taken away in good order waits for its work, which would be done twice."""


class Intake:
    """One consumer of one group. Made, started and closed from the loop's thread; :meth:`done` too."""

    def __init__(
        self,
        settings: Settings,
        client_id: str,
        group: str,
        topics: list[TopicName],
        limits: IntakeLimits,
    ) -> None:
        config = consumer_config(settings, client_id, group)
        self._assignment = Assignment(self._wait_for_work, self._tell_change)
        self._consumer = Consumer(config | {"on_commit": self._assignment.on_commit})
        self._topics = [topic.value for topic in topics]
        self._limits = limits
        self._finished: deque[Received] = deque()
        self._news = threading.Event()
        self._draining = threading.Event()
        self._stopping = threading.Event()
        self._paused = False
        self._next_commit_s = 0.0
        self._next_round_s = 0.0
        self._thread = threading.Thread(target=self._run, name=f"intake-{group}", daemon=True)

    def start(self, take: Callable[[list[Received]], None], on_change: OnChange) -> None:
        """Begin to read. ``take`` gets each batch and ``on_change`` each change of partitions, both in the loop."""
        self._loop = asyncio.get_running_loop()
        self._take = take
        self._on_change = on_change
        self.failed: asyncio.Future[None] = self._loop.create_future()
        self._thread.start()

    def done(self, received: Received) -> None:
        """The effect of the record is durable: its offset may be committed."""
        self._finished.append(received)
        self._news.set()

    def drain(self) -> None:
        """Take no more; offsets are still committed and the partitions kept."""
        self._draining.set()
        self._news.set()

    def close(self, timeout: timedelta = timedelta(seconds=10)) -> bool:
        """Commit what is done, leave the group; ``False`` when that did not end in time."""
        self._stopping.set()
        self.drain()
        self._thread.join(timeout.total_seconds())
        return not self._thread.is_alive()

    def partitions(self) -> list[int]:
        """The numbers of the partitions owned now, of whichever topic."""
        return self._assignment.partitions()

    @property
    def in_flight(self) -> int:
        """Records handed over and not done."""
        return self._assignment.in_flight

    @property
    def behind(self) -> bool:
        """Whether records wait in the topic, as far as the last answer of the broker tells."""
        return self._assignment.behind

    def _run(self) -> None:
        try:
            self._consumer.subscribe(
                self._topics,
                on_assign=self._assignment.on_assign,
                on_revoke=self._assignment.on_revoke,
                on_lost=self._assignment.on_lost,
            )
            while not self._stopping.is_set():
                self._step()
            self._apply_finished()
            self._assignment.commit(self._consumer, wait=True)
        except Exception as error:
            self._fail(error)
        finally:
            # Leaving calls on_revoke once more, which commits what is done by then.
            self._consumer.close()

    def _step(self) -> None:
        """One round: what is done, what may be committed, what there is room for."""
        # A round for each record would make the two threads take the interpreter's lock from each other all the time.
        time.sleep(max(0.0, self._next_round_s - time.monotonic()))
        self._next_round_s = time.monotonic() + _ROUND_S
        self._apply_finished()
        now_s = time.monotonic()
        if now_s >= self._next_commit_s:
            self._next_commit_s = now_s + self._limits.commit_every.total_seconds()
            self._assignment.commit(self._consumer, wait=False)
            self._assignment.look_ahead(self._consumer)
        room = 0 if self._draining.is_set() else self._limits.in_flight - self._assignment.in_flight
        if room <= 0 and not self._paused and not self._draining.is_set() and self._wait_for_room():
            return
        self._pause(room <= 0)
        batch = self._read(min(max(room, 1), _LARGEST_BATCH))
        if batch:
            self._loop.call_soon_threadsafe(self._hand_over, batch)

    def _hand_over(self, batch: list[Received]) -> None:
        # Runs in the loop, like drain(): a batch that was on its way then is left uncommitted, for the next owner.
        if not self._draining.is_set():
            self._take(batch)

    def _wait_for_room(self) -> bool:
        """Whether something is done soon. Pausing throws away what librdkafka has read ahead: waiting is cheaper."""
        self._news.clear()
        return bool(self._finished) or self._news.wait(_FULL_WAIT_S)

    def _pause(self, wanted: bool) -> None:
        if wanted:
            self._assignment.pause(self._consumer)
        elif self._paused:
            self._assignment.resume(self._consumer)
        self._paused = wanted

    def _read(self, limit: int) -> list[Received]:
        # The first by poll, which returns at once; the rest by consume, which would wait for a full batch.
        first = self._consumer.poll(_POLL_S)
        if first is None:
            return []
        more = self._consumer.consume(limit - 1, 0) if limit > 1 else []
        received = (self._receive(message) for message in [first, *more])
        return [each for each in received if each is not None]

    def _receive(self, message: Message) -> Received | None:
        error = message.error()
        if error is not None:
            judge(error)
            return None
        inbound = from_message(message)
        owned = self._assignment.start(inbound.topic, inbound.partition, inbound.offset)
        if owned is None:
            return None
        return Received(inbound, owned.epoch, owned.assigned_s, inbound.offset < owned.end)

    def _apply_finished(self) -> None:
        while self._finished:
            record, epoch, _, _ = self._finished.popleft()
            self._assignment.done(record.topic, record.partition, record.offset, epoch)

    def _wait_for_work(self, places: set[Place]) -> None:
        """Tell the loop that the partitions go, and give their work a moment to finish."""
        self._tell_change(places, lost=False)
        deadline_s = time.monotonic() + self._limits.revoke_grace.total_seconds()
        self._apply_finished()
        while self._assignment.busy(places) and not self._stopping.is_set():
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                break
            self._news.clear()
            if not self._finished:
                self._news.wait(left_s)
            self._apply_finished()

    def _tell_change(self, gone: set[Place], *, lost: bool) -> None:
        self._loop.call_soon_threadsafe(partial(self._on_change, gone, lost=lost))

    def _fail(self, error: Exception) -> None:
        def tell() -> None:
            if not self.failed.done():
                self.failed.set_exception(error)

        self._loop.call_soon_threadsafe(tell)
