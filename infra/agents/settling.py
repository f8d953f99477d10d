"""What follows the failure of a handler. It knows nothing of Faust: a batch goes in, and is settled on return."""

import asyncio
import random
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from infra.agents.agent import Agent, Unusable
from infra.errors import Failure, Fatal, NeverValid, RetryLater, UserError
from infra.kafka.dead_letters import dead_letter
from infra.kafka.inbound import Inbound
from infra.kafka.producer import Producer
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.running import AgentMade, BatchRetried, DeadLettered

LONGEST_WAIT = timedelta(seconds=30)
LETTER_WINDOW = 200
LETTER_LIMIT = 50
LETTER_SHARE = 0.5


class GivenUp(Exception):
    """The worker stops before the batch could be finished; its records stay unacknowledged."""


class Settler:
    """Settles the batches of one agent. ``tries`` counts calls of the handler, for liveness."""

    def __init__(self, agent: Agent, producer: Producer) -> None:
        self._agent = agent
        self._producer = producer
        self._letters: deque[bool] = deque(maxlen=LETTER_WINDOW)
        self.tries = 0
        emit(AgentMade(agent.name))

    async def settle(self, batch: Sequence[Inbound], closing: asyncio.Event) -> None:
        """Return when each record of the batch has had its effect or is a dead letter.

        Raises :class:`GivenUp` when ``closing`` is set while it waits to try again; :class:`Fatal` when too many
        records become dead letters or one cannot be written; :class:`UserError` when Kafka does not let us write.
        """
        attempt = 0
        while True:
            attempt += 1
            self.tries += 1
            try:
                await self._agent.handle(batch)
            except RetryLater as error:
                await self._wait(attempt, error, closing)
            except (Fatal, UserError):
                raise
            except Unusable as error:
                self._letters.extend([False] * (len(batch) - len(error.records)))
                await self._bury(error.records, attempt, closing)
                return
            except Exception as error:  # poison stops nothing, also when nobody thought of it
                await self._isolate(batch, error, attempt, closing)
                return
            else:
                self._letters.extend([False] * len(batch))
                return

    async def _isolate(self, batch: Sequence[Inbound], error: Exception, attempt: int, closing: asyncio.Event) -> None:
        if len(batch) == 1:
            await self._bury([(batch[0], _why(error))], attempt, closing)
            return
        middle = len(batch) // 2
        await self.settle(batch[:middle], closing)
        await self.settle(batch[middle:], closing)

    async def _bury(self, records: Sequence[tuple[Inbound, NeverValid]], attempts: int, closing: asyncio.Event) -> None:
        for record, why in records:
            self._count_letter(record, why)
        letters = [dead_letter(self._agent.name, record, why, attempts) for record, why in records]
        attempt = 0
        while True:
            attempt += 1
            try:
                await self._producer.deliver(letters)
                break
            except RetryLater as error:
                await self._wait(attempt, error, closing)
            except Failure as error:
                raise Fatal(f"a dead letter of {records[0][0].topic} cannot be written: {error}") from None
        for record, why in records:
            emit(DeadLettered(self._agent.name, why.reason, record.topic, record.partition, record.offset, str(why)))

    def _count_letter(self, record: Inbound, why: NeverValid) -> None:
        self._letters.append(True)
        letters = sum(self._letters)
        if self._agent.limit_dead_letters and letters >= LETTER_LIMIT and letters > LETTER_SHARE * len(self._letters):
            raise Fatal(
                f"{letters} of the last {len(self._letters)} records of {record.topic} cannot be handled: {why}"
            )

    async def _wait(self, attempt: int, error: RetryLater, closing: asyncio.Event) -> None:
        """Wait as long as the error asks for, else back off with jitter, up to :data:`LONGEST_WAIT`."""
        limit_s = min(LONGEST_WAIT.total_seconds(), 0.2 * 2 ** min(attempt, 10))
        wait_s = random.uniform(limit_s / 2, limit_s)  # noqa: S311  # spreads retries, keeps no secret
        if error.after is not None:
            wait_s = error.after.total_seconds()
        emit(BatchRetried(self._agent.name, attempt, round(wait_s, 2), str(error)))
        while wait_s > 0 and not closing.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(closing.wait(), min(wait_s, LONGEST_WAIT.total_seconds()))
            # A long wait that was asked for is no stall.
            self.tries += 1
            wait_s -= LONGEST_WAIT.total_seconds()
        if closing.is_set():
            raise GivenUp


def _why(error: Exception) -> NeverValid:
    if isinstance(error, NeverValid):
        return error
    return NeverValid("unexpected", f"{type(error).__name__}: {error}")
