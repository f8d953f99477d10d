"""From decoded records to Arrow tables: pure, and as wide as the contracts, so that nothing is cut or wrapped."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pyarrow as pa

from infra.errors import NeverValid
from infra.kafka.topics import TopicName
from sinks.keys import decision_id
from sinks.sink import Block, Entry

Read = Callable[[Any], object]

STRING = pa.string()
INT = pa.int32()
LONG = pa.int64()
DOUBLE = pa.float64()
TIME = pa.timestamp("us", "UTC")
STRINGS = pa.list_(pa.string())
NAMED_STRINGS = pa.map_(pa.string(), pa.string())

# What DateTime64 can hold (ClickHouse reference, "DateTime64"); outside of it values are stored as something else.
EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
LATEST = datetime(2299, 12, 31, tzinfo=UTC)


class Column(NamedTuple):
    """One column: its Arrow type, and how it is read from a record."""

    name: str
    kind: pa.DataType
    read: Read


class Table(NamedTuple):
    """A table, and which of its columns tells when the page of a row was asked for."""

    name: str
    columns: tuple[Column, ...]
    time: str


def _field(name: str, kind: pa.DataType = STRING) -> Column:
    return Column(name, kind, lambda record: getattr(record, name))


def _digest(name: str) -> Column:
    return Column(name, STRING, lambda record: _hex(name, getattr(record, name)))


def _time(name: str) -> Column:
    return Column(name, TIME, lambda record: _within_range(name, getattr(record, name)))


DOCUMENTS = Table(
    "documents",
    (
        *map(_field, ("crawl", "host", "url", "fetch_id", "parent", "content_type", "charset", "title", "text")),
        *map(_field, ("cut", "cleaner")),
        *map(_digest, ("url_id", "content_hash")),
        *map(_time, ("fetched_at", "cleaned_at")),
        *(_field(name, INT) for name in ("visit", "depth", "status")),
        _field("body_bytes", LONG),
        *map(_field, ("language", "author", "published", "modified", "site_name", "description", "canonical")),
        *(_field(name, STRINGS) for name in ("links", "flags", "images", "json_ld", "headings", "anchors")),
        _field("words", INT),
        _field("link_density", DOUBLE),
        _field("simhash", LONG),
        Column("sources", NAMED_STRINGS, lambda record: list(record.sources.items())),
        *map(_field, ("extracted", "rules", "markdown", "duplicate_of", "near_duplicate_of")),
    ),
    "fetched_at",
)
FETCHES = Table(
    "fetches",
    (
        *map(_field, ("crawl", "host", "url", "fetch_id", "kind", "lease", "parent", "outcome", "error", "cut")),
        *map(_field, ("content_type", "redirect_to", "retry_after", "etag", "last_modified", "remote_address")),
        *map(_field, ("protocol", "tls", "proxy", "robots", "worker")),
        _field("delay_ms", INT),
        _digest("url_id"),
        _time("started_at"),
        *(_field(name, INT) for name in ("visit", "attempt", "depth", "hops", "status")),
        *(_field(name, DOUBLE) for name in ("dns_ms", "connect_ms", "tls_ms", "first_byte_ms", "total_ms")),
        _field("body_bytes", LONG),
    ),
    "started_at",
)
DECISIONS = Table(
    "decisions",
    (
        *map(_field, ("crawl", "host", "url", "stage", "reason", "detail")),
        Column("decision_id", STRING, decision_id),
        _digest("url_id"),
        _time("at"),
        _field("depth", INT),
    ),
    "at",
)
TABLES = {TopicName.DOCUMENTS: DOCUMENTS, TopicName.FETCHES: FETCHES, TopicName.EVENTS: DECISIONS}
"""The table of each topic."""


def arrow_table(table: Table, blocks: Sequence[Block]) -> pa.Table:
    """All records of ``blocks`` as rows of ``table``, in order; without the columns that the store fills in itself.

    Raises :class:`NeverValid` (``unstorable``) naming the column when a value fits it by no rule.
    """
    entries = [entry for block in blocks for entry in block.entries]
    records = [entry.record for entry in entries]
    columns = {column.name: _array(column, records) for column in table.columns}
    columns |= {
        "trace_id": pa.array([entry.trace.trace_id if entry.trace else "" for entry in entries], STRING),
        "span_id": pa.array([entry.trace.span_id if entry.trace else "" for entry in entries], STRING),
        "kafka_partition": pa.array([block.partition for block in blocks for _ in block.entries], INT),
        "kafka_offset": pa.array([entry.offset for entry in entries], LONG),
    }
    return pa.table(columns)


def times(table: Table, entries: Sequence[Entry]) -> list[datetime]:
    """When the page of each row was asked for."""
    return [getattr(entry.record, table.time) for entry in entries]


def _array(column: Column, records: Sequence[object]) -> pa.Array:
    read = column.read
    try:
        return pa.array([read(record) for record in records], column.kind)
    except (pa.ArrowException, ValueError, OverflowError, TypeError) as error:
        # UnicodeEncodeError is a ValueError: a lone surrogate has no bytes.
        raise NeverValid("unstorable", f"column {column.name}: {error}") from None


def _hex(name: str, digest: bytes) -> str:
    if len(digest) != 16:
        raise ValueError(f"{name} has {len(digest)} bytes where a digest of 16 belongs")
    return digest.hex()


def _within_range(name: str, time: datetime) -> datetime:
    if not EARLIEST <= time <= LATEST:
        raise ValueError(f"{name} is {time.isoformat()}, outside of what a column of times can hold")
    return time
