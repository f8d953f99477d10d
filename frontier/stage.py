"""The stage: one thread owns the consumer, the producer and the stores; everything it decides is in ``partition``."""

import asyncio
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any

from frontier.admission import admit, check
from frontier.browser_rules import BrowserRules
from frontier.clock import Clock
from frontier.figures import figures
from frontier.lost import Search
from frontier.memory import Memory
from frontier.owned import CHANGELOG_END, Owned, restore, take_over
from frontier.partition import Partition
from frontier.publisher import Publisher
from frontier.questions import Questions
from frontier.results import settle
from infra.errors import NeverValid
from infra.kafka.dead_letters import dead_letter
from infra.kafka.inbound import Inbound
from infra.kafka.partition_owner import Offsets, PartitionOwner
from infra.kafka.partition_reader import PartitionReader
from infra.kafka.producer import Pace, Producer
from infra.kafka.topics import TopicName
from infra.stage import Context, Progress
from infra.telemetry.event import emit
from infra.telemetry.tracing import read
from infra.telemetry.vocabulary.frontier import PartitionClosed
from infra.telemetry.vocabulary.running import DeadLettered
from schemas.records import Fetch, Links, Reason
from schemas.wire import Undecodable, decode

GROUP = "odradek-frontier"
COMMIT_EVERY_S = 0.5
SEARCH_EVERY_S = 5.0
MAX_OWED = 2_000
"""Bundles on their way over all partitions; above it no input is taken, so a broker that is away costs no memory."""
LONGEST_WAIT_S = 0.1


class Frontier:
    """Links and fetches to urls."""

    def __init__(self, context: Context) -> None:
        self._settings = context.settings
        self._control = context.control
        self._worker = context.worker
        self._producer = Producer(context.settings, f"{context.worker}-producer", patient=True)
        self._consumer = PartitionOwner(
            context.settings, context.worker, GROUP, [TopicName.LINKS, TopicName.FETCHES], self
        )
        self._search = Search(context.settings, context.worker)
        self._clock = Clock()
        self._pace = Pace()
        self._owned: dict[int, Owned] = {}
        self._finished = 0
        self._told: tuple[Mapping[str, int], Mapping[str, int]] = ({}, {})
        self._commit_at_s = self._search_at_s = 0.0
        self._questions = Questions()
        self._search_every_s = min(SEARCH_EVERY_S, self._settings.frontier.lease_timeout.total_seconds() / 4)
        self.explain, self.hosts = self._questions.explain, self._questions.hosts

    async def run(self, stopping: asyncio.Event) -> None:
        """Work until ``stopping``, then publish what is owed, commit and leave."""
        stop = threading.Event()
        work: asyncio.Future[Any] = asyncio.get_running_loop().run_in_executor(None, self._work, stop)
        waiter: asyncio.Future[Any] = asyncio.ensure_future(stopping.wait())
        try:
            await asyncio.wait({work, waiter}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiter.cancel()
            stop.set()
        await work

    def _work(self, stop: threading.Event) -> None:
        self._consumer.start()
        try:
            while not stop.is_set():
                self._round()
        finally:
            # Rebalance callbacks run in here and close every partition in good order.
            self._consumer.stop()
            self._search.close()

    def _round(self) -> None:
        """Take what arrived, decide, publish."""
        started_s = time.monotonic()
        is_full = sum(len(owned.publisher) for owned in self._owned.values()) >= MAX_OWED
        records = [] if is_full else self._consumer.take(timedelta(seconds=self._patience_s()))
        by_partition = attrgetter("partition")
        batches = {number: list(batch) for number, batch in groupby(sorted(records, key=by_partition), by_partition)}
        now_s = self._clock.now_s()
        self._obey()
        for number, owned in list(self._owned.items()):
            batch = batches.get(number, [])
            due_s = owned.partition.next_s()
            if batch or (due_s is not None and due_s <= now_s):
                self._decide(owned, batch)
        # Where nothing is read, this is the only place to wait in.
        self._producer.poll(timedelta(seconds=LONGEST_WAIT_S if is_full else 0))
        self._pay()
        self._questions.answer(self._owned, self._clock.now_s())
        self._look_after(time.monotonic())
        if records:
            longest_s = min((owned.partition.longest_rest_s for owned in self._owned.values()), default=0.0)
            self._rest(started_s + self._pace.rest_s(len(records), longest_s))

    def _rest(self, until_s: float) -> None:
        """Read nothing for a while, so that the next batch is worth its requests; what arrives is noted at once.

        A request that the broker has and that is not noted yet would be sent a second time after a crash.
        """
        while (left_s := until_s - time.monotonic()) > 0:
            self._producer.poll(timedelta(seconds=left_s))
            self._pay()

    def _obey(self) -> None:
        """Follow the orders that are in force by now."""
        orders = self._control.orders()
        for owned in self._owned.values():
            if owned.partition.orders is not orders:
                owned.begin()
                owned.partition.obey(orders)
                owned.settle()

    def _patience_s(self) -> float:
        """How long to wait for input: until the next host is due, shortly while deliveries are on their way."""
        if any(len(owned.publisher) for owned in self._owned.values()):
            return 0.005
        dues = [due_s for owned in self._owned.values() if (due_s := owned.partition.next_s()) is not None]
        wait_s = min(dues) - self._clock.now_s() if dues else LONGEST_WAIT_S
        return min(max(wait_s, 0.0), LONGEST_WAIT_S)

    def _decide(self, owned: Owned, batch: Sequence[Inbound]) -> None:
        """One transaction: input, what follows from it, what is due, offsets, outbox."""
        now_s = self._clock.now_s()
        store = owned.memory.store
        owned.begin()
        try:
            for record in batch:
                self._apply(owned, record, now_s)
                owned.positions[TopicName(record.topic)] = record.offset + 1
            owned.partition.release(now_s)
            for topic, offset in owned.positions.items():
                store.set_meta(f"offset/{topic}", offset)
            settled = owned.memory.settle(owned.owner)
            store.commit()
        except BaseException:
            store.rollback()
            raise
        self._finished += len(batch)
        if settled is not None:
            bundle_number, bundle = settled
            owned.publisher.publish(bundle_number, bundle, dict(owned.positions))
        elif not len(owned.publisher):
            owned.payable |= owned.positions

    def _apply(self, owned: Owned, record: Inbound, now_s: float) -> None:
        try:
            if record.topic == TopicName.LINKS:
                links = decode(Links, record.value)
                check(links)
                trace = read(record.headers) if links.reason is Reason.SEED else None
                admit(owned.partition, links, trace.trace_id if trace else None, now_s)
            else:
                settle(owned.partition, decode(Fetch, record.value), now_s)
        except (Undecodable, NeverValid) as error:
            why = error if isinstance(error, NeverValid) else NeverValid("undecodable", str(error))
            owned.memory.send(dead_letter("frontier", record, why, 1))
            emit(DeadLettered("frontier", why.reason, record.topic, record.partition, record.offset, str(error)))

    def _pay(self) -> None:
        """Forget what the broker has."""
        for owned in self._owned.values():
            settled = owned.publisher.settled()
            if settled is not None:
                number, offsets = settled
                owned.payable |= offsets
                owned.begin()
                owned.memory.store.paid(number)
                if owned.publisher.changelog_end >= 0:
                    owned.memory.store.set_meta(CHANGELOG_END, owned.publisher.changelog_end)
                owned.memory.store.commit()

    def _look_after(self, now_s: float) -> None:
        """Commit and tell figures now and then, look for lost leases seldom."""
        if now_s >= self._commit_at_s:
            self._commit_at_s = now_s + COMMIT_EVERY_S
            for number, owned in self._owned.items():
                self._consumer.commit(number, owned.payable, wait=False)
            self._tell()
        if now_s >= self._search_at_s:
            self._search_at_s = now_s + self._search_every_s
            self._search.step(self._owned, self._clock.now_s())

    def opened(self, partition: int, committed: Offsets) -> Offsets:
        """Take over a partition: its file, brought up to the changelog."""
        directory = self._settings.data_dir / "frontier"
        directory.mkdir(parents=True, exist_ok=True)
        changelog = PartitionReader(self._settings, self._worker, TopicName.FRONTIER_STATE, partition)
        try:
            restored = restore(directory / f"partition-{partition}.sqlite", partition, changelog)
        finally:
            changelog.close()
        owner = f"{self._worker}-{secrets.token_hex(4)}"
        owned = take_over(restored, partition, owner, Publisher(self._producer), self._make)
        owned.payable |= committed
        stored = owned.memory.store.offsets()
        owned.positions = {
            topic: max(stored.get(topic, 0), committed.get(topic, 0)) for topic in (TopicName.LINKS, TopicName.FETCHES)
        }
        self._owned[partition] = owned
        return dict(owned.positions)

    def _make(self, memory: Memory) -> Partition:
        token = self._settings.identity.robots_token
        now_s = self._clock.now_s()
        partition = Partition(memory, self._settings.frontier, self._control.crawl, token, now_s)
        partition.needs_browser = BrowserRules(self._settings.rendering.hosts, self._settings.rendering.patterns).hold
        partition.released_pages = self._released_pages
        return partition

    def _released_pages(self, crawl: str) -> int:
        name = f"crawl/{crawl}/released"
        return sum(owned.memory.counts[name] for owned in self._owned.values())

    def closing(self, partition: int, *, lost: bool) -> Offsets:
        """Give a partition back: publish what it owes, unless somebody else works on it already."""
        owned = self._owned.pop(partition)
        deadline_s = time.monotonic() + self._settings.kafka.session_timeout.total_seconds()
        while not lost and len(owned.publisher) and time.monotonic() < deadline_s:
            self._producer.poll(timedelta(milliseconds=50))
            self._owned[partition] = owned
            self._pay()
            del self._owned[partition]
        owned.publisher.abandon()
        owned.close()
        emit(PartitionClosed(partition, lost))
        return owned.payable

    def _tell(self) -> None:
        """Figures for other threads: one assignment, so that whoever reads the positions first has counts as new."""
        positions = {
            f"{topic}/{number}": offset
            for number, owned in self._owned.items()
            for topic, offset in owned.positions.items()
        }
        self._told = (positions, figures(self._owned.values()))

    def ready(self) -> bool:
        """Whether it is a member of its group."""
        return self._consumer.joined

    def progress(self) -> Progress:
        """Records applied, and whether decisions wait for the broker."""
        return Progress(self._finished, any(len(owned.publisher) for owned in list(self._owned.values())))

    def partitions(self) -> list[int]:
        """What it owns."""
        return self._consumer.partitions()

    def counts(self) -> Mapping[str, int]:
        """Figures by name, over its partitions."""
        return self._told[1]

    def positions(self) -> Mapping[str, int]:
        """The next offset of each source of each partition."""
        return self._told[0]
