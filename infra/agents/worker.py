"""One consumer group of a stage: a Faust app in the stage's own event loop, and what watches over it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from infra.agents.agent import Agent
from infra.agents.app import make_app, raw_topic, to_inbound
from infra.agents.settling import GivenUp, Settler
from infra.errors import Fatal, RetryLater, UserError
from infra.kafka.lag import LagReader
from infra.kafka.producer import Producer
from infra.stage import Context, Progress
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.running import ConsumerReplaced

LOOK_AT_LAG_EVERY = timedelta(seconds=15)
REPLACE_AFTER = timedelta(seconds=1)
LONGEST_REPLACE_AFTER = timedelta(seconds=30)
STOP_WITHIN = timedelta(seconds=20)
"""For a consumer that has crashed; after it the process ends instead."""


class AgentWorker:
    """The agents of one consumer group, from :meth:`run` on."""

    def __init__(self, context: Context, group: str, agents: Sequence[Agent], producer: Producer) -> None:
        """Raises :class:`UserError` when Faust cannot reach Kafka as ``settings.kafka`` asks."""
        self._context = context
        self._group = group
        self._settlers = {agent: Settler(agent, producer) for agent in agents}
        self._topics = tuple(agent.topic for agent in agents)
        self._finished = 0
        self._lag = 0
        self._consumer = self._new_consumer()

    def _new_consumer(self) -> "_Consumer":
        app = make_app(self._context.settings, self._group, self._context.worker)
        return _Consumer(app, self._group, self._settlers)

    async def run(self, stopping: asyncio.Event) -> None:
        """Work until ``stopping``; then finish the batches in hand, commit and leave the group.

        A consumer that crashes is replaced, as often as it takes. Raises :class:`Fatal` when the stage cannot go on.
        """
        look = asyncio.create_task(self._look_at_lag())
        attempt = 0
        try:
            while True:
                before = self._finished
                error = await self._consumer.run(stopping)
                if error is None:
                    return
                self._finished += self._consumer.finished
                attempt = 1 if self._finished > before else attempt + 1
                wait_s = min(LONGEST_REPLACE_AFTER, REPLACE_AFTER * 2 ** min(attempt - 1, 10)).total_seconds()
                emit(ConsumerReplaced(self._group, attempt, wait_s, f"{type(error).__name__}: {error}"))
                with suppress(TimeoutError):
                    await asyncio.wait_for(stopping.wait(), wait_s)
                if stopping.is_set():
                    return
                self._consumer = self._new_consumer()
        finally:
            look.cancel()

    async def _look_at_lag(self) -> None:
        """Whether anything waits, asked beside the consumer: one that died tells nothing."""
        reader = await asyncio.to_thread(LagReader, self._context.settings, {self._group: self._topics})
        while True:
            await asyncio.sleep(LOOK_AT_LAG_EVERY.total_seconds())
            owned = self._consumer.assignment()
            try:
                seen = await asyncio.to_thread(reader.read)
            except (RetryLater, UserError):
                # Kafka is away: then nothing can be done, and whoever tries says so.
                self._lag = 0
                continue
            done, starts = seen.committed[self._group], seen.starts
            self._lag = sum(
                max(0, end - done.get(place, starts[place])) for place, end in seen.ends.items() if place in owned
            )

    def ready(self) -> bool:
        """Whether it is a member of its group and no rebalance is under way."""
        return self._consumer.ready()

    def progress(self) -> Progress:
        """Records done and tries made, and whether any wait.

        A batch that is tried again and again counts: it is a store that is in trouble then, and nothing that a restart
        of this process would mend.
        """
        tries = sum(settler.tries for settler in self._settlers.values())
        done = self._finished + self._consumer.finished
        return Progress(done + tries, self._consumer.busy() or self._lag > 0)

    def generation(self) -> object:
        """Another one after each rebalance: what was known of a partition before may be out of date."""
        return self._consumer.generation()

    def partitions(self) -> list[int]:
        """What it owns of its first topic."""
        return sorted(number for topic, number in self._consumer.assignment() if topic == self._topics[0])


class _Consumer:
    """One Faust app, from its start to its stop or crash."""

    def __init__(self, app: Any, group: str, settlers: dict[Agent, Settler]) -> None:
        self._app = app
        self._closing = asyncio.Event()
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._busy: set[str] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._started = False
        self.finished = 0
        for agent, settler in settlers.items():
            name = f"{group}.{agent.name}"
            app.agent(raw_topic(app, agent.topic), name=name, concurrency=1)(_Loop(self, agent, settler).run)

    async def run(self, stopping: asyncio.Event) -> Exception | None:
        """Consume until ``stopping``; returns the error when it crashed before. Raises :class:`Fatal`."""
        crash: Exception | None = None
        clean = False
        try:
            crash = await self._until(stopping)
            clean = crash is None
        finally:
            # Also when this is cancelled: a thread of Faust's would outlive the loop.
            await self._close(clean)
        if self._failed.done():
            self._failed.result()
        return crash

    async def _until(self, stopping: asyncio.Event) -> Exception | None:
        start = asyncio.ensure_future(self._app.start())
        # Faust's consumer and commits crash the app, which then only sits there; it has no public door to wait at.
        crashed = asyncio.ensure_future(self._app._crashed.wait())  # noqa: SLF001
        stop = asyncio.ensure_future(stopping.wait())
        ends: set[asyncio.Future[Any]] = {stop, crashed, self._failed}
        try:
            await asyncio.wait({start, *ends}, return_when=asyncio.FIRST_COMPLETED)
            if start.done():
                if (error := self._why_not_started(start)) is not None:
                    return error
                # Faust's statistics of each record are a tenth of its cost, and nobody reads them.
                self._app.sensors.remove(self._app.monitor)
                self._started = True
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if not crashed.done():
                return None
            reason = self._app.crash_reason
            return reason if isinstance(reason, Exception) else RetryLater("Faust crashed and does not say why")
        finally:
            for each in (start, crashed, stop):
                each.cancel()

    def _why_not_started(self, start: "asyncio.Future[None]") -> Exception | None:
        """Faust raises whatever its client does when the broker is not there."""
        error = start.exception() if start.done() and not start.cancelled() else None
        if isinstance(error, Exception):
            return error
        if error is not None:
            raise error
        return None

    async def _close(self, clean: bool) -> None:
        """Finish what is in hand, commit, leave the group. A crashed consumer that does not stop ends the process."""
        self._closing.set()
        # A clean end has the runner's limit.
        limit_s = None if clean else STOP_WITHIN.total_seconds()
        try:
            await asyncio.wait_for(self._idle.wait(), limit_s)
            self._started = False
            await asyncio.wait_for(self._app.stop(), limit_s)
        except TimeoutError:
            raise Fatal("a consumer that crashed does not stop") from None
        except Exception as error:  # stopping talks to the broker, which may be what is gone
            if clean:
                raise Fatal(f"the consumer did not stop cleanly: {type(error).__name__}: {error}") from None

    def ready(self) -> bool:
        # More workers than partitions leave some with none: they are ready too, once they are members.
        return self._started and not self._app.rebalancing and bool(self._app.consumer_generation_id)

    def busy(self) -> bool:
        return bool(self._busy)

    def assignment(self) -> set[tuple[str, int]]:
        if not self._started:
            return set()
        return {(place.topic, place.partition) for place in self._app.consumer.assignment()}

    def generation(self) -> object:
        # Each consumer is a member of its own, and its count begins anew.
        return id(self), self._app.consumer_generation_id

    @property
    def closing(self) -> asyncio.Event:
        """Set when no new batch may be begun."""
        return self._closing

    def begin(self, agent: Agent) -> None:
        self._busy.add(agent.name)
        self._idle.clear()

    def end(self, agent: Agent, done: int) -> None:
        self._busy.discard(agent.name)
        if not self._busy:
            self._idle.set()
        self.finished += done

    def fail(self, error: Exception) -> None:
        if not self._failed.done():
            self._failed.set_exception(error)


class _Loop:
    """The body of one agent."""

    def __init__(self, consumer: _Consumer, agent: Agent, settler: Settler) -> None:
        self._consumer = consumer
        self._agent = agent
        self._settler = settler

    async def run(self, stream: Any) -> None:
        agent = self._agent
        batches: AsyncIterator[list[Any]] = stream.noack_take(agent.max_records, within=agent.within.total_seconds())
        async for events in batches:
            if self._consumer.closing.is_set() or not await self._work(stream, events):
                # Not done, so not acknowledged, nor is anything after it: its next owner begins here.
                await asyncio.Event().wait()

    async def _work(self, stream: Any, events: Sequence[Any]) -> bool:
        """Settle one batch, then acknowledge it; ``False`` when it stays undone."""
        self._consumer.begin(self._agent)
        done = 0
        try:
            await self._settler.settle([to_inbound(event.message) for event in events], self._consumer.closing)
            for event in events:
                await stream.ack(event)
            done = len(events)
        except GivenUp:
            pass
        except Exception as error:  # nothing may leave an agent: Faust would acknowledge the record
            self._consumer.fail(error if isinstance(error, Fatal) else Fatal(f"{type(error).__name__}: {error}"))
        finally:
            self._consumer.end(self._agent, done)
        return done > 0
