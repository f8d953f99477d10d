"""One store that is kept fed: started again after what would end a process of its own."""

import asyncio
from contextlib import suppress
from datetime import timedelta

from infra.errors import Failure, Fatal, UserError
from infra.kafka.producer import Producer
from infra.settings.sinks import StoreSettings
from infra.stage import Context
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.sinks import StoreStopped
from sinks.feed import Feed

FIRST_WAIT = timedelta(seconds=5)
LONGEST_WAIT = timedelta(minutes=1)


class Member:
    """A store, its settings, and its feed of now. Made and used in one event loop."""

    def __init__(
        self,
        context: Context,
        name: str,
        settings: StoreSettings,
        producer: Producer,
        after: "asyncio.Task[None] | None" = None,
    ) -> None:
        """``after``: whoever fed the store until now, and has to let go of it first."""
        self._context = context
        self._name = name
        self._producer = producer
        self._leaving = asyncio.Event()
        self.settings = settings
        self.feed = Feed(context, name, settings, producer)
        self.error: Exception | None = None
        """Why it is not fed now."""
        self.task = asyncio.create_task(self._run(after))

    def leave(self) -> None:
        """Finish what is in hand, commit, let go of the store; the task ends then."""
        self._leaving.set()

    async def _run(self, after: "asyncio.Task[None] | None") -> None:
        if after is not None:
            await asyncio.wait({after})
        wait = FIRST_WAIT
        while not self._leaving.is_set():
            try:
                await self.feed.run(self._leaving)
            except (UserError, Fatal, Failure) as error:
                emit(StoreStopped(self._name, wait.total_seconds(), str(error)))
                self.error = error
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._leaving.wait(), wait.total_seconds())
                wait = min(2 * wait, LONGEST_WAIT)
                self.feed = Feed(self._context, self._name, self.settings, self._producer)
                self.error = None
