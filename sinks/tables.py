"""The tables as data: what stands in each topic, told once for every store.

A store maps each :class:`Type` to one of its own, and takes its rows from :func:`columns`. Its migrations are its own,
since they hold what only it knows (codecs, indexes, comments); a test holds them against this module.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum, auto
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

from infra.errors import NeverValid
from infra.kafka.topics import TopicName
from sinks.keys import decision_id
from sinks.sink import Block, Entry


class Type(Enum):
    """What a column holds."""

    TEXT = auto()
    INT = auto()
    """32 bits."""
    LONG = auto()
    """64 bits."""
    REAL = auto()
    TIME = auto()
    """UTC, microseconds."""
    TEXTS = auto()
    """A list of texts, in order."""
    TEXT_BY_NAME = auto()
    """A map from text to text."""


class Column(NamedTuple):
    """One column, and how it is read from a record."""

    name: str
    type: Type
    read: Callable[[Any], Any]


class Table(NamedTuple):
    """A table. Rows with equal ``key`` are one row: the one with the latest ``version``, the first of equal ones."""

    name: str
    key: tuple[str, ...]
    version: str
    time: str
    """When the page of the row was asked for, or the decision taken."""
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Of all columns, those of :data:`PLACE` last."""
        return *(column.name for column in self.columns), *PLACE

    @property
    def types(self) -> tuple[Type, ...]:
        """Of all columns, in the order of :attr:`names`."""
        return *(column.type for column in self.columns), *PLACE.values()


Key = tuple[Any, ...]
"""The values of a row's key columns."""

PLACE: Mapping[str, Type] = {
    "trace_id": Type.TEXT,
    "span_id": Type.TEXT,
    "kafka_partition": Type.INT,
    "kafka_offset": Type.LONG,
}
"""The columns that every table has beside those of its records: the W3C trace (or empty) and the place in Kafka."""


def _fields(type_: Type, names: str) -> tuple[Column, ...]:
    return tuple(Column(name, type_, attrgetter(name)) for name in names.split())


def _words(names: str) -> tuple[Column, ...]:
    return tuple(Column(name, Type.TEXT, _word(name)) for name in names.split())


def _digests(names: str) -> tuple[Column, ...]:
    return tuple(Column(name, Type.TEXT, _hex(name)) for name in names.split())


def _word(name: str) -> Callable[[Any], str | None]:
    """Of an enumeration, as plain text: clients of stores ask values for their exact type."""
    read = attrgetter(name)

    def word(record: object) -> str | None:
        value = read(record)
        return None if value is None else str(value)

    return word


def _hex(name: str) -> Callable[[Any], str]:
    read = attrgetter(name)

    def digest(record: object) -> str:
        value: bytes = read(record)
        if len(value) != 16:
            raise ValueError(f"{len(value)} bytes where a digest of 16 belongs")
        return value.hex()

    return digest


DOCUMENTS = Table(
    "documents",
    ("crawl", "url_id", "visit"),
    "cleaned_at",
    "fetched_at",
    (
        *_fields(Type.TEXT, "crawl host url fetch_id parent content_type charset title text"),
        *_words("cut"),
        *_fields(Type.TEXT, "cleaner"),
        *_digests("url_id content_hash"),
        *_fields(Type.TIME, "fetched_at cleaned_at"),
        *_fields(Type.INT, "visit depth status"),
        *_fields(Type.LONG, "body_bytes"),
        *_fields(Type.TEXT, "language author published modified site_name description canonical"),
        *_fields(Type.TEXTS, "links flags images json_ld headings anchors"),
        *_fields(Type.INT, "words"),
        *_fields(Type.REAL, "link_density"),
        *_fields(Type.LONG, "simhash"),
        *_fields(Type.TEXT_BY_NAME, "sources"),
        *_fields(Type.TEXT, "extracted rules markdown duplicate_of near_duplicate_of"),
    ),
)
FETCHES = Table(
    "fetches",
    ("fetch_id",),
    "started_at",
    "started_at",
    (
        *_fields(Type.TEXT, "crawl host url fetch_id"),
        *_words("kind"),
        *_fields(Type.TEXT, "lease parent"),
        *_words("outcome"),
        *_fields(Type.TEXT, "error"),
        *_words("cut"),
        *_fields(Type.TEXT, "content_type redirect_to retry_after etag last_modified remote_address"),
        *_fields(Type.TEXT, "protocol tls proxy robots worker"),
        *_fields(Type.INT, "delay_ms"),
        *_digests("url_id"),
        *_fields(Type.TIME, "started_at"),
        *_fields(Type.INT, "visit attempt depth hops status"),
        *_fields(Type.REAL, "dns_ms connect_ms tls_ms first_byte_ms total_ms"),
        *_fields(Type.LONG, "body_bytes"),
    ),
)
DECISIONS = Table(
    "decisions",
    ("decision_id",),
    "at",
    "at",
    (
        *_fields(Type.TEXT, "crawl host url stage reason detail"),
        Column("decision_id", Type.TEXT, decision_id),
        *_digests("url_id"),
        *_fields(Type.TIME, "at"),
        *_fields(Type.INT, "depth"),
    ),
)
TABLES: Mapping[TopicName, Table] = {
    TopicName.DOCUMENTS: DOCUMENTS,
    TopicName.FETCHES: FETCHES,
    TopicName.EVENTS: DECISIONS,
}
"""The table of each topic whose records are rows."""

PAGES = Table("pages", ("fetch_id",), "fetched_at", "fetched_at", ())
"""Raw pages are records of an archive and no rows; they have a name, a key and a time like all others."""


def table_of(topic: TopicName) -> Table:
    """What a store has of a topic, rows or raw pages."""
    return PAGES if topic is TopicName.PAGES else TABLES[topic]


Adapt = Mapping[Type, Callable[[Any], object]]
"""How a store wants the values of a type, where it is not as Python has them; called with what is not ``None``."""


def columns(table: Table, blocks: Sequence[Block], adapt: Adapt | None = None) -> dict[str, list[Any]]:
    """The values of all records of ``blocks``, by column in the order of :attr:`Table.names`, in order of the records.

    Raises :class:`NeverValid` (``unstorable``) naming the column when a value fits it by no rule.
    """
    entries = [entry for block in blocks for entry in block.entries]
    records = [entry.record for entry in entries]
    found = {column.name: _values(column, records, (adapt or {}).get(column.type)) for column in table.columns}
    return found | {
        "trace_id": [entry.trace.trace_id if entry.trace else "" for entry in entries],
        "span_id": [entry.trace.span_id if entry.trace else "" for entry in entries],
        "kafka_partition": [block.partition for block in blocks for _ in block.entries],
        "kafka_offset": [entry.offset for entry in entries],
    }


def folded(table: Table, blocks: Sequence[Block], adapt: Adapt | None = None) -> list[tuple[Any, ...]]:
    """The same as rows, of each key the one that stays: for stores that want no key twice in one write."""
    found = columns(table, blocks, adapt)
    last = newest(table, found)
    rows = list(zip(*found.values(), strict=True))
    return rows if len(last) == len(rows) else [rows[place] for place in last]


def newest(table: Table, found: Mapping[str, Sequence[Any]], known: Mapping[Key, Any] | None = None) -> list[int]:
    """The places of the rows in ``found`` that stay: of each key the latest, if later than the one in ``known``."""
    versions = found[table.version]
    last: dict[Key, int] = {}
    for place, key in enumerate(zip(*(found[name] for name in table.key), strict=True)):
        before = versions[last[key]] if key in last else known.get(key) if known else None
        if before is None or versions[place] > before:
            last[key] = place
    return list(last.values())


def times(table: Table, entries: Sequence[Entry]) -> list[datetime]:
    """When the page of each row was asked for."""
    return list(map(attrgetter(table.time), (entry.record for entry in entries)))


def unstorable(column: str, error: Exception) -> NeverValid:
    """What is raised for a value that ``column`` cannot hold."""
    return NeverValid("unstorable", f"column {column}: {error}")


def _values(column: Column, records: Sequence[object], adapt: Callable[[Any], object] | None) -> list[Any]:
    try:
        values = list(map(column.read, records))
        _encode(column.type, values)
        return values if adapt is None else [None if value is None else adapt(value) for value in values]
    except (ValueError, OverflowError, TypeError) as error:
        # UnicodeEncodeError is a ValueError: a lone surrogate has no bytes.
        raise unstorable(column.name, error) from None


def _encode(type_: Type, values: list[Any]) -> None:
    """Raise :class:`UnicodeEncodeError` for a lone surrogate: no store has bytes for it. All at once is cheapest."""
    if type_ is Type.TEXT:
        "".join(filter(None, values)).encode()
    elif type_ is Type.TEXTS:
        "".join(chain.from_iterable(values)).encode()
    elif type_ is Type.TEXT_BY_NAME:
        "".join(chain.from_iterable(chain(value, value.values()) for value in values)).encode()
