"""The stage: every configured store with a consumer group of its own, in one process."""

import asyncio
import gc
from collections.abc import Mapping

from infra.errors import UserError
from infra.kafka.producer import Producer
from infra.stage import Context, Progress
from sinks.feed import Feed
from sinks.tally import together


class Sinks:
    """See :mod:`sinks` for the movement; :class:`infra.stage.Stage` for the methods."""

    def __init__(self, context: Context) -> None:
        stores = context.settings.sinks.stores
        if not stores:
            raise UserError("no store is configured: set sinks.stores")
        producer = Producer(context.settings, f"{context.worker}-dead-letters")
        self._feeds = [Feed(context, name, store, producer) for name, store in stores.items()]

    async def run(self, stopping: asyncio.Event) -> None:
        """Feed every store until ``stopping`` is set. A store that cannot be reached is tried again for ever."""
        # A batch is thousands of short lists of strings, none of them in a cycle: look for cycles seldom.
        gc.set_threshold(100_000, 50, 100)
        tasks = [asyncio.create_task(feed.run(stopping)) for feed in self._feeds]
        try:
            await asyncio.gather(*tasks)
        finally:
            # One that cannot go on ends the process, and the others let go of their stores first.
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def ready(self) -> bool:
        """Whether every store takes rows."""
        return all(feed.ready() for feed in self._feeds)

    def progress(self) -> Progress:
        """Records written by all, and whether any waits."""
        found = [feed.progress() for feed in self._feeds]
        return Progress(sum(each.finished for each in found), any(each.waiting for each in found))

    def partitions(self) -> list[int]:
        """The union over the stores."""
        return sorted({partition for feed in self._feeds for partition in feed.partitions()})

    def counts(self) -> Mapping[str, int]:
        """The rows that every store has, and the latency of the slowest."""
        return together([feed.counts() for feed in self._feeds])

    def positions(self) -> Mapping[str, int]:
        """None: what a store has is told by its group's committed offsets."""
        return {}
