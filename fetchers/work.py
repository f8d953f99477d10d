"""From a record of ``urls`` to durable results: the steps of one record, and the tasks that take them."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Protocol, TypeVar

from fetchers.attempt import Attempt
from fetchers.hosts import HostTurns
from infra.errors import NeverValid, RetryLater
from infra.kafka.dead_letters import dead_letter
from infra.kafka.intake import Received
from infra.kafka.lag import Place
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.spool import Spool
from infra.telemetry import tracing
from infra.telemetry.event import emit
from infra.telemetry.tracing import Trace, trace_of
from infra.telemetry.vocabulary.fetchers import FetchesAborted, PageRefused, PageSpooled, UrlFetched
from infra.telemetry.vocabulary.running import BatchRetried, DeadLettered
from schemas.outcomes import Outcome
from schemas.records import Fetch, Page, Request
from schemas.wire import Undecodable, decode, encode

T = TypeVar("T")
_RETRY_S = (0.2, 0.5, 1.0, 2.0, 5.0)


class Fetches(Protocol):
    """Whoever makes an attempt of a request (:class:`fetchers.fetcher.Fetcher`)."""

    async def fetch(self, request: Request) -> Attempt:
        """Try once; whatever happens is the attempt's outcome."""
        ...

    def reconfigure(self, settings: Settings) -> None:
        """Keep within these limits from the next attempt on."""
        ...


class Worker:
    """Works on records, each in a task of its own; their number is bounded by whoever hands them in."""

    def __init__(self, name: str, fetcher: Fetches, producer: Producer, hosts: HostTurns, spool: Spool) -> None:
        """``name`` begins with that of the stage."""
        self._name = name
        self._stage = name.partition("-")[0]
        self._fetcher = fetcher
        self._producer = producer
        self._hosts = hosts
        self._spool = spool
        self._tasks: dict[asyncio.Task[None], Received] = {}
        self._idle: set[asyncio.Task[None]] = set()
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Raises what no record may cause."""
        self.steps = 0
        """Grows whenever any record gets further."""
        self.pages = self.errors = self.fetched_bytes = 0

    def take(self, batch: list[Received], done: Callable[[Received], None]) -> None:
        """Begin work on records; ``done`` hears of each whose results are durable."""
        loop = asyncio.get_running_loop()
        for received in batch:
            task = loop.create_task(self._work(received, done))
            self._tasks[task] = received
            task.add_done_callback(self._on_end)

    @property
    def busy(self) -> int:
        """Records under way: being fetched or delivered, not waiting for their host."""
        return len(self._tasks) - len(self._idle)

    def drop(self, places: set[Place], *, under_way: bool, why: str) -> None:
        """Give up the records of partitions that are ours no longer; unless ``under_way`` only those that wait."""
        self._abort(
            [
                task
                for task, received in self._tasks.items()
                if (received.record.topic, received.record.partition) in places and (under_way or task in self._idle)
            ],
            why,
        )

    async def finish(self, within: timedelta) -> None:
        """Give up what has not begun, wait for what has, then give up the rest: nobody hears of it being done."""
        self._abort(list(self._idle), "stopping")
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=within.total_seconds())
        self._abort(list(self._tasks), "stopping")
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _abort(self, tasks: list[asyncio.Task[None]], why: str) -> None:
        for task in tasks:
            task.cancel()
        if tasks:
            emit(FetchesAborted(why, len(tasks)))

    def _on_end(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        if not task.cancelled() and (error := task.exception()) is not None and not self.broken.done():
            self.broken.set_exception(error)

    async def _work(self, received: Received, done: Callable[[Received], None]) -> None:
        """One record.

        1. Read the request; what cannot be read becomes a dead letter.
        2. Wait for the host's turn, and one delay after a handover where the former owner may have tried.
        3. Fetch.
        4. Deliver the page, wait until the broker has it; then the fetch, likewise: whoever reads the fetch may rely
           on the page.
        5. Say that it is done; only now the offset may move.
        """
        try:
            request = decode(Request, received.record.value)
        except Undecodable as error:
            await self._refuse(received, NeverValid("undecodable", str(error)))
            done(received)
            return
        delay = timedelta(milliseconds=request.delay_ms)
        not_before_s = received.assigned_s + delay.total_seconds() if received.maybe_tried else 0.0
        attempt = await self._fetch(request, delay, not_before_s)
        trace = tracing.read(received.record.headers) or trace_of(request.crawl, request.url_id, request.visit)
        await self._tell(request, attempt, trace.child())
        done(received)
        self.steps += 1

    async def _fetch(self, request: Request, delay: timedelta, not_before_s: float) -> Attempt:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a record is worked on in a task of its own")
        self._idle.add(task)
        try:
            async with self._hosts.turn(request.host, delay, not_before_s) as host:
                self._idle.discard(task)
                self.steps += 1
                attempt = await self._fetcher.fetch(request)
                # The host may have seen the request as late as it began to answer.
                host.keep_apart(attempt.seen_s, delay)
        finally:
            self._idle.discard(task)
        self.steps += 1
        return attempt

    async def _tell(self, request: Request, attempt: Attempt, trace: Trace) -> None:
        page, fetch = attempt.records(request, self._name)
        key = request.host.encode()
        if page is not None:
            try:
                await self._deliver(Outbound(TopicName.PAGES, page.url_id, encode(page), [trace.header()]))
            except NeverValid as error:
                page = await self._by_reference(page, error, trace)
                if page is None:
                    fetch = fetch.model_copy(update={"outcome": Outcome.SKIPPED, "error": str(error)})
        await self._deliver(Outbound(TopicName.FETCHES, key, encode(fetch), [trace.header()]))
        self._count(page, fetch, trace)

    async def _by_reference(self, page: Page, why: NeverValid, trace: Trace) -> Page | None:
        """Deliver a page that Kafka refuses without its body, which goes to the spool; ``None`` when that fails too."""
        try:
            reference = await self._patiently(lambda: asyncio.to_thread(self._spool.put, page.body))
            small = page.model_copy(update={"body": b"", "body_at": reference})
            await self._deliver(Outbound(TopicName.PAGES, page.url_id, encode(small), [trace.header()]))
        except NeverValid as error:
            emit(PageRefused(page.url, why.reason, f"{why}; {error}"), trace)
            return None
        emit(PageSpooled(page.url, len(page.body)), trace)
        return small

    def _count(self, page: Page | None, fetch: Fetch, trace: Trace) -> None:
        self.pages += page is not None
        self.errors += fetch.outcome not in _NO_ERRORS
        self.fetched_bytes += fetch.body_bytes
        emit(
            UrlFetched(
                fetch.url, fetch.outcome, fetch.status, fetch.cut, fetch.body_bytes, fetch.total_ms / 1_000, fetch.error
            ),
            trace,
        )

    async def _refuse(self, received: Received, why: NeverValid) -> None:
        await self._deliver(dead_letter(self._stage, received.record, why, attempts=1))
        record = received.record
        emit(DeadLettered(self._stage, why.reason, record.topic, record.partition, record.offset, str(why)))

    async def _deliver(self, outbound: Outbound) -> None:
        """Return when the broker has the record, however long that takes."""
        await self._patiently(lambda: self._producer.deliver([outbound]))

    async def _patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        """Try until it succeeds, for what only trouble of others can hold up."""
        failures = 0
        while True:
            try:
                return await work()
            except RetryLater as error:
                wait_s = _RETRY_S[min(failures, len(_RETRY_S) - 1)]
                failures += 1
                emit(BatchRetried(self._stage, failures, wait_s, str(error)))
                await asyncio.sleep(wait_s)


_NO_ERRORS = frozenset({Outcome.OK, Outcome.NOT_MODIFIED, Outcome.REDIRECT, Outcome.SKIPPED, Outcome.NEEDS_BROWSER})
