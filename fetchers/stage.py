"""The stage: wires intake, worker, fetcher and producer, and drains them in order."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar

from fetchers.connections import Connections
from fetchers.fetcher import Fetcher
from fetchers.hosts import HostTurns
from fetchers.work import Fetches, Worker
from infra.errors import Fatal
from infra.kafka.intake import Intake, IntakeLimits, Received
from infra.kafka.lag import Place
from infra.kafka.producer import Producer
from infra.kafka.topics import TopicName, all_topics
from infra.settings import Settings
from infra.spool import Spool, prune_regularly
from infra.stage import Context, Progress
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.fetchers import PartitionsChanged

GROUP = "odradek-fetchers"
PRUNE_EVERY = timedelta(hours=1)


class Fetchers:
    """From ``urls`` to ``pages`` and ``fetches``. Keeps nothing: what is not committed, another worker repeats.

    Another kind of fetcher takes another topic, in a group of its own, and makes its attempts otherwise.
    """

    group: ClassVar[str] = GROUP
    topic: ClassVar[TopicName] = TopicName.URLS

    def __init__(self, context: Context) -> None:
        self._context = context
        self._settings = context.settings.fetchers
        self._at_a_time = self._settings.concurrency
        self._connections: Connections | None = None
        self._intake: Intake | None = None
        self._worker: Worker | None = None
        self._fetcher: Fetches | None = None

    async def run(self, stopping: asyncio.Event) -> None:
        """Fetch until told to stop, then drain.

        1. Take no more; give up what waits for its host's turn.
        2. Let requests under way finish and be delivered, for as long as the drain lasts.
        3. Commit what is done and leave the group; the rest stays uncommitted.
        """
        settings, worker_name = self._context.settings, self._context.worker
        producer = Producer(settings, worker_name)
        spool = Spool(settings)
        pruning = self._prune(spool)
        connections = self._connections = Connections(self._settings, proxies=self._context.control.proxies)
        fetcher = self._fetcher = await self.open(connections)
        worker = self._worker = Worker(
            worker_name, fetcher, producer, HostTurns(self._settings.host_concurrency), spool
        )
        limits = IntakeLimits(self._at_a_time)
        intake = self._intake = Intake(settings, worker_name, self.group, [self.topic], limits)
        try:
            intake.start(self._take, self._on_change)
            stop = asyncio.create_task(stopping.wait())
            ends: set[asyncio.Future[Any]] = {stop, intake.failed, worker.broken}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            stop.cancel()
            intake.drain()
            await worker.finish(self._settings.drain)
        finally:
            left = await asyncio.to_thread(intake.close)
            pruning.cancel()
            await connections.close()
            await self.close()
        for end in (intake.failed, worker.broken):
            if end.done():
                await end
        if not left:
            raise Fatal("the consumer did not leave its group in time")

    async def open(self, connections: Connections) -> Fetches:
        """Whoever makes the attempts."""
        settings = self._context.settings
        return Fetcher(settings, connections, self._context.control.orders, detect=settings.rendering.detect)

    async def close(self) -> None:
        """No more attempts are made."""

    def _prune(self, spool: Spool) -> "asyncio.Future[None]":
        """A body is of use as long as a record of pages can name it."""
        keep = all_topics()[TopicName.PAGES].retention or timedelta.max
        return asyncio.ensure_future(prune_regularly(spool, keep, PRUNE_EVERY))

    def _take(self, batch: list[Received]) -> None:
        if self._worker is not None and self._intake is not None:
            self._worker.take(batch, self._intake.done)

    def _on_change(self, gone: set[Place], *, lost: bool) -> None:
        """Partitions go: at first only what has not begun is given up; what is lost or over its grace, at once."""
        if self._worker is not None:
            self._worker.drop(gone, under_way=lost, why="lost" if lost else "revoked")
        emit(PartitionsChanged(self.partitions()))

    def reconfigure(self, settings: Settings) -> None:
        """Keep within these limits from the next attempt on."""
        if self._fetcher is not None:
            self._fetcher.reconfigure(settings)

    def ready(self) -> bool:
        """Whether partitions are assigned: without any there is nothing to take."""
        return bool(self.partitions())

    def progress(self) -> Progress:
        """Steps of records; waiting while anything is under way or could be taken."""
        worker, intake = self._worker, self._intake
        if worker is None or intake is None:
            return Progress(0, waiting=False)
        could_take = intake.behind and intake.in_flight < self._at_a_time
        return Progress(worker.steps, waiting=bool(worker.busy) or could_take)

    def partitions(self) -> list[int]:
        """Of its topic."""
        return self._intake.partitions() if self._intake is not None else []

    def counts(self) -> Mapping[str, int]:
        """In flight now; pages, errors and bytes since the start."""
        if self._worker is None or self._intake is None or self._connections is None:
            return {}
        return {
            "in_flight": self._intake.in_flight,
            "pages": self._worker.pages,
            "errors": self._worker.errors,
            "bytes": self._worker.fetched_bytes,
            **self._connections.counts(),
        }

    def positions(self) -> Mapping[str, int]:
        """Nothing: the stage keeps no state."""
        return {}
