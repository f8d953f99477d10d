"""Stored pages, cleaned anew: what the streams do to pages that come, done to pages that are there.

Only documents come out: links were told to the frontier when the pages were new.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from infra.errors import NeverValid
from infra.kafka.partition_reader import PartitionReader
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.spool import Spool
from schemas.records import Document, Page
from schemas.wire import Undecodable, decode
from streams.clean import finish
from streams.isolation import Isolation
from streams.opened import Way, open_page
from streams.sites import Sites

_WRITE_DOCUMENTS = 500
_WRITE_CHARS = 16 * 2**20

Write = Callable[[Sequence[Document]], None]


class Wanted(NamedTuple):
    """Which pages; ``None`` is all."""

    since: datetime | None = None
    """By the time of the record: pages that came from then on."""
    until: datetime | None = None
    """Pages that came before."""
    crawl: str | None = None
    host: str | None = None

    def has(self, page: Page) -> bool:
        """Whether the page is one of them, by its crawl and host."""
        return self.crawl in (None, page.crawl) and self.host in (None, page.host)


@dataclass
class Tally:
    """What a replay has done so far."""

    read: int = 0
    """Records."""
    cleaned: int = 0
    unreadable: int = 0
    """Records that are no page, or whose body is gone."""


class Replay:
    """Reads the topic ``pages`` from one end to the other, in one thread's own loop."""

    def __init__(self, settings: Settings, sites: Sites, write: Write, progress: Callable[[Tally], None]) -> None:
        self._settings = settings
        self._way = Way(settings.identity.robots_token, obey=True, markdown=settings.streams.markdown, sites=sites)
        self._spool = Spool(settings)
        self._write = write
        self._progress = progress
        self._waiting: list[Document] = []
        self._waiting_chars = 0
        self.tally = Tally()

    async def run(self, partitions: int, wanted: Wanted) -> Tally:
        """Every page that is wanted is written when this returns."""
        streams = self._settings.streams
        isolation = Isolation(streams.costly_pages_timeout, streams.costly_pages_memory_mib)
        try:
            for number in range(partitions):
                reader = PartitionReader(self._settings, "odradek-replay", TopicName.PAGES, number)
                try:
                    await self._read(reader, wanted, isolation)
                finally:
                    reader.close()
            self._flush()
        finally:
            await isolation.close()
        return self.tally

    async def _read(self, reader: PartitionReader, wanted: Wanted, isolation: Isolation) -> None:
        first = reader.start if wanted.since is None else reader.offset_at(wanted.since)
        end = reader.end if wanted.until is None else reader.offset_at(wanted.until)
        for batch in reader.read(first):
            for record in batch:
                if record.offset >= end:
                    return
                self.tally.read += 1
                try:
                    page = self._page(record.value)
                except (Undecodable, NeverValid):
                    self.tally.unreadable += 1
                    continue
                if wanted.has(page):
                    await self._clean(page, isolation)
            self._progress(self.tally)

    def _page(self, value: bytes | None) -> Page:
        page = decode(Page, value)
        return page if page.body_at is None else page.model_copy(update={"body": self._spool.get(page.body_at)})

    async def _clean(self, page: Page, isolation: Isolation) -> None:
        opened, now = open_page(page), datetime.now(UTC)
        if self._way.apart(opened):
            document, _ = await isolation.clean(opened, self._way, now)
        else:
            document, _ = finish(opened, self._way, now)
        self.tally.cleaned += 1
        self._waiting.append(document)
        self._waiting_chars += len(document.text)
        if len(self._waiting) >= _WRITE_DOCUMENTS or self._waiting_chars >= _WRITE_CHARS:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._write(self._waiting)
        self._waiting, self._waiting_chars = [], 0
