"""The newest documents, read from the ends of the topic when somebody asks: to follow it costs as much as a sink."""

import asyncio
from datetime import timedelta
from typing import NamedTuple

from infra.kafka.follower import newest
from infra.kafka.inbound import Inbound
from infra.kafka.topics import TopicName
from infra.settings import Settings

READ_OF_A_PARTITION = 100
FRESH_FOR = timedelta(seconds=3)


class _Read(NamedTuple):
    at_s: float
    records: list[Inbound]


class NewestDocuments:
    """Reads the ends of ``documents``, not oftener than every few seconds however many ask."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = asyncio.Lock()
        self._read: _Read | None = None

    async def records(self) -> list[Inbound]:
        """The last records of every partition, oldest first. Raises :class:`infra.errors.RetryLater`."""
        async with self._lock:
            now_s = asyncio.get_running_loop().time()
            if self._read is None or now_s - self._read.at_s > FRESH_FOR.total_seconds():
                found = await asyncio.to_thread(
                    newest, self._settings, "monitor-documents", TopicName.DOCUMENTS, READ_OF_A_PARTITION
                )
                self._read = _Read(asyncio.get_running_loop().time(), found)
            return self._read.records
