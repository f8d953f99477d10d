"""Raw pages out of Kafka, as web archives."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from infra.errors import NeverValid
from infra.kafka.partition_reader import records_between
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.spool import Spool
from schemas.records import Page
from schemas.wire import Undecodable, decode
from sinks.export.files import whole
from sinks.export.rows import Range
from sinks.objects import cdxj, warc

FILE_BYTES = 2**30
"""About how large an archive becomes; the next begins then. What archives hold to be usual."""
_CHUNK_PAGES = 100
_CHUNK_BYTES = 16 * 2**20


@dataclass
class Tally:
    """What an export of pages did."""

    pages: int = 0
    files: int = 0
    repeats: int = 0
    unreadable: int = 0
    """Records that are no page, or whose body is gone from the spool."""


class Archives:
    """Files ``STEM-NNNNN.warc.gz`` beside one index ``STEM.cdxj``, which is written last."""

    def __init__(self, settings: Settings, stem: Path, file_bytes: int = FILE_BYTES) -> None:
        self._settings = settings
        self._spool = Spool(settings)
        self._stem = stem
        self._file_bytes = file_bytes
        self._index: list[bytes] = []
        self.tally = Tally()

    def write(self, partitions: int, range_: Range, progress: Callable[[Tally], None]) -> None:
        """Every page of the range once: that of the record's time, of the crawl and the host."""
        chunks = _chunks(self._pages(partitions, range_))
        chunk = next(chunks, None)
        while chunk is not None:
            name = f"{self._stem.name}-{self.tally.files:05}.{warc.SUFFIX}"
            with whole(self._stem.with_name(name)) as out:
                while chunk is not None and out.tell() < self._file_bytes:
                    begin = out.tell()
                    data, archived = warc.archive(name, chunk)
                    out.write(data)
                    self._index.append(
                        cdxj.index(name, (each._replace(offset=begin + each.offset) for each in archived))
                    )
                    self.tally.pages += len(chunk)
                    progress(self.tally)
                    chunk = next(chunks, None)
            self.tally.files += 1
        with whole(self._stem.with_name(f"{self._stem.name}.{cdxj.SUFFIX}")) as out:
            out.writelines(sorted(line for part in self._index for line in part.splitlines(keepends=True)))

    def _pages(self, partitions: int, range_: Range) -> Iterator[tuple[Page, bytes]]:
        seen: set[str] = set()
        for number in range(partitions):
            first = 0 if range_.since is None else range_.since
            for record in records_between(self._settings, TopicName.PAGES, number, first, range_.until):
                try:
                    page = decode(Page, record.value)
                    if range_.crawl not in (None, page.crawl) or range_.host not in (None, page.host):
                        continue
                    if page.fetch_id in seen:
                        self.tally.repeats += 1
                        continue
                    body = page.body if page.body_at is None else self._spool.get(page.body_at)
                except (Undecodable, NeverValid):
                    self.tally.unreadable += 1
                    continue
                seen.add(page.fetch_id)
                yield page, body


def _chunks(pages: Iterator[tuple[Page, bytes]]) -> Iterator[list[tuple[Page, bytes]]]:
    """So many at once as memory allows."""
    chunk: list[tuple[Page, bytes]] = []
    size_bytes = 0
    for page, body in pages:
        chunk.append((page, body))
        size_bytes += len(body)
        if len(chunk) == _CHUNK_PAGES or size_bytes >= _CHUNK_BYTES:
            yield chunk
            chunk, size_bytes = [], 0
    if chunk:
        yield chunk
