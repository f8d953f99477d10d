"""The sink that writes objects: rows as Parquet or JSON Lines, raw pages as WARC."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from urllib.parse import parse_qs, urlsplit

from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.spool import Spool
from schemas.records import Page
from sinks.blocking import BlockingSink
from sinks.judging import Verdict
from sinks.objects import cdxj, errors, warc
from sinks.objects.formats import format_of
from sinks.objects.layout import folder, name, span, span_of, windows
from sinks.objects.place import place_of
from sinks.sink import Block
from sinks.tables import PAGES, Key, Table, columns, newest


class ObjectsSink(BlockingSink):
    """One object for each block and window. See :mod:`sinks.objects` for the layout."""

    def __init__(self, settings: Settings, dsn: str) -> None:
        """Raises :class:`infra.errors.UserError` for a format or an option that there is not."""
        super().__init__(settings, dsn)
        self._format = format_of(parse_qs(urlsplit(dsn).query).get("format", ["parquet"])[-1])
        self._place = place_of(settings, dsn)
        self._spool = Spool(settings)

    def connect(self) -> Mapping[str, int]:
        """Look at the place; what it holds is not counted, for that would mean to read it."""
        self._place.names("")
        return {}

    def insert(self, table: Table, blocks: Sequence[Block]) -> None:
        """Every record stands in exactly one object of its partition's."""
        for block in blocks:
            for part in windows(block):
                if part.topic is TopicName.PAGES:
                    self._archive(part)
                else:
                    self._write_rows(table, part)

    def disconnect(self) -> None:
        """Requests have connections, the sink has none."""

    def judge(self, error: Exception) -> Verdict:
        """By the store's code."""
        return errors.judge(error)

    def _write_rows(self, table: Table, block: Block) -> None:
        target = name(table, block, self._format.suffix)
        near = self._near(table, block, self._format.suffix)
        if target in near:
            return
        known: dict[Key, datetime] = {}
        for each in near:
            known |= self._format.versions(table, self._place.get(each))
        found = columns(table, [block])
        places = newest(table, found, known)
        if places:
            kept = {column: [values[place] for place in places] for column, values in found.items()}
            self._place.create(target, self._format.encode(table, kept))

    def _archive(self, block: Block) -> None:
        target, index = name(PAGES, block, warc.SUFFIX), name(PAGES, block, cdxj.SUFFIX)
        near = self._near(PAGES, block, cdxj.SUFFIX)
        if index in near:
            return
        known: dict[Key, datetime] = {}
        for each in near:
            known |= cdxj.versions(self._place.get(each))
        pages = {each.record.fetch_id: each.record for each in block.entries if isinstance(each.record, Page)}
        fresh = [(page, self._body(page)) for fetch_id, page in pages.items() if (fetch_id,) not in known]
        if fresh:
            data, archived = warc.archive(target, fresh)
            # An archive without its index is one that was not finished: it is made anew, and the index ends it.
            self._place.replace(target, data)
            self._place.create(index, cdxj.index(target, archived))

    def _near(self, table: Table, block: Block, suffix: str) -> list[str]:
        """The objects that hold some of the block's offsets: a repeat's, or a former write's that was cut otherwise."""
        wanted = span(block)
        spans = ((each, span_of(each, suffix)) for each in self._place.names(folder(table, block)))
        return [each for each, found in spans if found is not None and found.overlaps(wanted)]

    def _body(self, page: Page) -> bytes:
        return page.body if page.body_at is None else self._spool.get(page.body_at)
