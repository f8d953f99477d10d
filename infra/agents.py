"""Faust agents in the one shape that loses nothing.

A stage gives a handler for a batch of raw records; what follows its failure is decided here alone:

1. take up to ``max_records`` without acknowledging them;
2. call the handler; it returns when all effects are durable;
3. :class:`~infra.errors.RetryLater`: wait, longer each time, and go to 2 with the same batch, for ever;
4. :class:`~infra.errors.NeverValid`, or an exception nobody expected: halve the batch and handle the halves, down to
   the one bad record, which becomes a dead letter;
5. acknowledge every record; Faust commits the lowest contiguous offsets.

No exception leaves an agent, since Faust would acknowledge the record that raised it. Above a share of dead letters the
worker stops loudly, because then it is the stage that is broken. At the end the batch in hand is finished first.
"""

import asyncio
import logging
import random
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import faust

from infra.errors import Failure, Fatal, NeverValid, RetryLater, UserError
from infra.kafka.clients import bootstrap_servers
from infra.kafka.dead_letters import dead_letter
from infra.kafka.inbound import Inbound
from infra.kafka.producer import Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.stage import Context, Progress
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.running import BatchRetried, DeadLettered

Handle = Callable[[Sequence[Inbound]], Awaitable[None]]

LONGEST_WAIT = timedelta(seconds=30)
LETTER_WINDOW = 200
LETTER_LIMIT = 50
LETTER_SHARE = 0.5


@dataclass(frozen=True)
class Agent:
    """What one agent reads, and what it does with it."""

    name: str
    topic: TopicName
    handle: Handle
    max_records: int
    within: timedelta
    """The longest a record waits for its batch to fill."""
    limit_dead_letters: bool = True
    """Off for a topic that anybody may write to: a flood of rubbish there is no fault of ours."""


class AgentWorker:
    """The agents of one consumer group: one Faust app in the running event loop."""

    def __init__(self, context: Context, group: str, agents: Sequence[Agent], producer: Producer) -> None:
        self._group = group
        self._agents = agents
        self._producer = producer
        self._stopping = asyncio.Event()
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._busy: set[str] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._finished = 0
        self._started = False
        self._app = _app(context, group)
        for agent in agents:
            topic = self._app.topic(agent.topic.value, key_type=bytes, value_type=bytes, key_serializer="raw",
                                    value_serializer="raw")  # fmt: skip
            self._app.agent(topic, name=f"{group}.{agent.name}", concurrency=1)(_Loop(self, agent, producer).run)

    async def run(self, stopping: asyncio.Event) -> None:
        """Work until ``stopping``; then finish the batches in hand, commit and leave the group.

        Raises :class:`Fatal` when the stage cannot go on.
        """
        await self._app.start()
        self._started = True
        try:
            await self._until(stopping)
            self._stopping.set()
            await self._idle.wait()
        finally:
            self._started = False
            await self._app.stop()
        if self._failed.done():
            self._failed.result()

    async def _until(self, stopping: asyncio.Event) -> None:
        stop = asyncio.ensure_future(stopping.wait())
        ends: set[asyncio.Future[Any]] = {stop, self._failed}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()

    def ready(self) -> bool:
        """Whether it is a member of its group and no rebalance is under way."""
        return self._started and not self._app.rebalancing

    def progress(self) -> Progress:
        """Records done, and whether any are in hand."""
        return Progress(self._finished, bool(self._busy))

    def partitions(self) -> list[int]:
        """What it owns of its first topic."""
        if not self._started:
            return []
        topic = self._agents[0].topic.value
        return sorted(place.partition for place in self._app.consumer.assignment() if place.topic == topic)

    def stopping(self) -> asyncio.Event:
        """Set when no new batch may be begun."""
        return self._stopping

    def begin(self, agent: Agent) -> None:
        """A batch is in hand."""
        self._busy.add(agent.name)
        self._idle.clear()

    def end(self, agent: Agent, done: int) -> None:
        """It is finished."""
        self._busy.discard(agent.name)
        if not self._busy:
            self._idle.set()
        self._finished += done

    def fail(self, error: Exception) -> None:
        """The stage cannot go on."""
        if not self._failed.done():
            self._failed.set_exception(error)


class _Loop:
    """The body of one agent."""

    def __init__(self, worker: AgentWorker, agent: Agent, producer: Producer) -> None:
        self._worker = worker
        self._agent = agent
        self._producer = producer
        self._letters: deque[bool] = deque(maxlen=LETTER_WINDOW)

    async def run(self, stream: Any) -> None:
        agent, stopping = self._agent, self._worker.stopping()
        batches: AsyncIterator[list[Any]] = stream.noack_take(agent.max_records, within=agent.within.total_seconds())
        async for events in batches:
            if stopping.is_set():
                # Not begun, so not acknowledged: its next owner begins it.
                await asyncio.Event().wait()
            if not events:
                continue
            self._worker.begin(agent)
            done = 0
            try:
                await self._settle([_inbound(event.message) for event in events])
                for event in events:
                    await stream.ack(event)
                done = len(events)
            except _GivenUp:
                pass
            except Exception as error:  # nothing may leave an agent: Faust would acknowledge the record
                self._worker.fail(error if isinstance(error, Fatal) else Fatal(f"{type(error).__name__}: {error}"))
            finally:
                self._worker.end(agent, done)
            if not done:
                await asyncio.Event().wait()

    async def _settle(self, batch: Sequence[Inbound]) -> None:
        """Return when each record of the batch has had its effect or is a dead letter."""
        attempt = 0
        while True:
            attempt += 1
            try:
                await self._agent.handle(batch)
            except RetryLater as error:
                await self._wait(attempt, error)
            except Exception as error:  # poison stops nothing, also when nobody thought of it
                await self._isolate(batch, error, attempt)
                return
            else:
                self._letters.extend([False] * len(batch))
                return

    async def _isolate(self, batch: Sequence[Inbound], error: Exception, attempt: int) -> None:
        if isinstance(error, Fatal):
            raise error
        if len(batch) == 1:
            await self._bury(batch[0], _why(error), attempt)
            return
        middle = len(batch) // 2
        await self._settle(batch[:middle])
        await self._settle(batch[middle:])

    async def _bury(self, record: Inbound, why: NeverValid, attempts: int) -> None:
        name = self._agent.name
        self._letters.append(True)
        letters = sum(self._letters)
        if self._agent.limit_dead_letters and letters >= LETTER_LIMIT and letters > LETTER_SHARE * len(self._letters):
            raise Fatal(
                f"{letters} of the last {len(self._letters)} records of {record.topic} cannot be handled: {why}"
            )
        letter = dead_letter(name, record, why, attempts)
        attempt = 0
        while True:
            attempt += 1
            try:
                await self._producer.deliver([letter])
                break
            except RetryLater as error:
                await self._wait(attempt, error)
            except Failure as error:
                raise Fatal(f"a dead letter of {record.topic} cannot be written: {error}") from None
        emit(DeadLettered(name, why.reason, record.topic, record.partition, record.offset, str(why)))

    async def _wait(self, attempt: int, error: Exception) -> None:
        """Back off with full jitter; gives the batch up when the worker stops meanwhile."""
        limit_s = min(LONGEST_WAIT.total_seconds(), 0.2 * 2 ** min(attempt, 10))
        wait_s = random.uniform(limit_s / 2, limit_s)  # noqa: S311  # spreads retries, keeps no secret
        emit(BatchRetried(self._agent.name, attempt, round(wait_s, 2), str(error)))
        with suppress(TimeoutError):
            await asyncio.wait_for(self._worker.stopping().wait(), wait_s)
        if self._worker.stopping().is_set():
            raise _GivenUp


class _GivenUp(Exception):
    """The worker stops before the batch could be finished; its records stay unacknowledged."""


def _why(error: Exception) -> NeverValid:
    if isinstance(error, NeverValid):
        return error
    return NeverValid("unexpected", f"{type(error).__name__}: {error}")


def _inbound(message: Any) -> Inbound:
    headers = {name: value for name, value in message.headers or () if value is not None}
    return Inbound(
        message.topic, message.partition, message.offset, message.key, message.value, headers,
        int(message.timestamp * 1000),
    )  # fmt: skip


def _app(context: Context, group: str) -> Any:
    """A Faust app without tables, web server, signal handlers or logs of its own."""
    settings = context.settings
    for name in ("faust", "mode", "aiokafka"):
        logging.getLogger(name).setLevel(logging.ERROR)
    datadir = settings.data_dir / "faust" / f"{group}-{context.worker}"
    datadir.mkdir(parents=True, exist_ok=True)
    return faust.App(
        group,
        broker=[f"kafka://{each.strip()}" for each in bootstrap_servers(settings).split(",")],
        broker_credentials=_credentials(settings),
        broker_client_id=context.worker,
        broker_session_timeout=settings.kafka.session_timeout.total_seconds(),
        broker_heartbeat_interval=settings.kafka.heartbeat_interval.total_seconds(),
        broker_max_poll_records=500,
        broker_commit_interval=1.0,
        consumer_auto_offset_reset="earliest",
        consumer_max_fetch_size=16 * 2**20,
        datadir=str(datadir),
        store="memory://",
        # Pages are large: what waits in memory is bounded by this count, not by bytes.
        stream_buffer_maxsize=256,
        stream_wait_empty=False,
        table_standby_replicas=0,
        topic_disable_leader=True,
        web_enabled=False,
        worker_redirect_stdouts=False,
    )


def _credentials(settings: Settings) -> Any:
    """Librdkafka's security settings as Faust's. Raises :class:`UserError` for one that has no counterpart."""
    client = {name: value for name, value in settings.kafka.client.items() if name.startswith(("sasl.", "ssl.", "sec"))}
    protocol = client.pop("security.protocol", "plaintext").lower()
    mechanism = client.pop("sasl.mechanism", client.pop("sasl.mechanisms", "PLAIN"))
    user, password = client.pop("sasl.username", ""), client.pop("sasl.password", "")
    ca, cert, key = (client.pop(f"ssl.{each}.location", None) for each in ("ca", "certificate", "key"))
    if client:
        raise UserError(f"kafka.client: {', '.join(sorted(client))} cannot be used by the stream stages")
    context = ssl.create_default_context(cafile=ca) if "ssl" in protocol else None
    if context is not None and cert is not None:
        context.load_cert_chain(cert, key)
    if protocol.startswith("sasl"):
        return faust.SASLCredentials(username=user, password=password, mechanism=mechanism, ssl_context=context)
    return faust.SSLCredentials(context) if context is not None else None
