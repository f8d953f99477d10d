"""The stage: every store that is wanted with a consumer group of its own, in one process."""

import asyncio
import gc
from collections.abc import Mapping
from datetime import timedelta

from infra.errors import UserError
from infra.kafka.producer import Producer
from infra.settings.stores import Stores
from infra.stage import Context, Progress
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.sinks import StoreAdded, StoreRemoved, StoresRefused
from sinks.member import Member
from sinks.rounds import Rounds
from sinks.tally import together
from sinks.wanted import Wanted

LOOK_EVERY = timedelta(seconds=1)


class Sinks:
    """See :mod:`sinks` for the movement; :class:`infra.stage.Stage` for the methods."""

    def __init__(self, context: Context) -> None:
        """Raises :class:`UserError` when a store that is wanted cannot be."""
        self._context = context
        self._wanted = Wanted(context.settings)
        self._producer = Producer(context.settings, f"{context.worker}-dead-letters")
        self._members: dict[str, Member] = {}
        self._leaving: dict[str, asyncio.Task[None]] = {}
        self._rounds = Rounds()

    async def run(self, stopping: asyncio.Event) -> None:
        """Feed every store that is wanted until ``stopping``.

        A store that cannot be reached, or that stops, holds up no other. Raises why, when none is left.
        """
        # A batch is thousands of short lists of strings, none of them in a cycle: look for cycles seldom.
        gc.set_threshold(100_000, 50, 100)
        stop = asyncio.create_task(stopping.wait())
        try:
            self._follow(self._wanted.stores)
            while not stopping.is_set():
                await asyncio.wait({stop}, timeout=LOOK_EVERY.total_seconds())
                self._end_without_any()
                await self._look()
        finally:
            stop.cancel()
            for member in self._members.values():
                member.leave()
            tasks = [*self._leaving.values(), *(member.task for member in self._members.values())]
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _look(self) -> None:
        """Follow what is wanted; what is refused changes nothing."""
        try:
            found = await asyncio.to_thread(self._wanted.look)
        except UserError as error:
            emit(StoresRefused(str(error)))
            return
        if found is not None:
            self._follow(found)

    def _follow(self, wanted: Stores) -> None:
        """Let go of the stores that are not wanted, or not so, and begin with those that are new; wait for nobody."""
        for name in [name for name, member in self._members.items() if wanted.get(name) != member.settings]:
            member = self._members.pop(name)
            member.leave()
            self._leaving[name] = member.task
            if name not in wanted:
                emit(StoreRemoved(name))
        for name, store in wanted.items():
            if name not in self._members:
                before = self._leaving.pop(name, None)
                self._members[name] = Member(self._context, name, store, self._producer, before)
                emit(StoreAdded(name))

    def _end_without_any(self) -> None:
        """A process that feeds nobody ends loudly, for the one reason that it can tell."""
        errors = [member.error for member in self._members.values()]
        if errors and all(errors) and errors[0] is not None:
            raise errors[0]
        for member in self._members.values():
            if member.task.done():
                member.task.result()

    def ready(self) -> bool:
        """Whether every store takes rows."""
        return all(member.feed.ready() for member in self._members.values())

    def progress(self) -> Progress:
        """One unit for each time that every store which had work got some done."""
        return self._rounds.look({name: member.feed.progress() for name, member in self._members.items()})

    def partitions(self) -> list[int]:
        """The union over the stores."""
        return sorted({partition for member in self._members.values() for partition in member.feed.partitions()})

    def counts(self) -> Mapping[str, int]:
        """The rows that every store has, the latency of the slowest, and the rows of each store."""
        each = {name: member.feed.counts() for name, member in self._members.items()}
        rows = {
            f"store/{name}/{figure}": value
            for name, counts in each.items()
            for figure, value in counts.items()
            if figure.startswith("rows_")
        }
        return {**together(list(each.values())), **rows}

    def positions(self) -> Mapping[str, int]:
        """None: what a store has is told by its group's committed offsets."""
        return {}
