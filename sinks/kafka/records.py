"""The records that the other cluster gets. Pure."""

from collections.abc import Iterator
from hashlib import blake2b

from infra.kafka.producer import Headers, Outbound
from schemas.records import Document, Page
from schemas.wire import encode
from sinks.keys import Content, row_key
from sinks.sink import Block
from sinks.tables import Table

ID = "odradek-id"
"""Header: the same for every record of one row."""
VERSION = "odradek-version"
"""Header: of two records of one row the one with the greater is the row (ISO 8601, UTC)."""


def records(table: Table, block: Block, prefix: str) -> Iterator[Outbound]:
    """What is sent for a block, in its order. Raises what :func:`schemas.wire.encode` raises for a lone surrogate."""
    for entry in block.entries:
        version = getattr(entry.record, table.version)
        headers: Headers = [(ID, _id(entry.record)), (VERSION, version.isoformat().encode())]
        if entry.trace is not None:
            headers.append(entry.trace.header())
        yield Outbound(f"{prefix}{block.topic}", _key(entry.record), encode(entry.record), headers)


def _key(record: Content) -> bytes:
    """As the topic here is keyed."""
    return record.url_id if isinstance(record, (Document, Page)) else record.host.encode()


def _id(record: Content) -> bytes:
    # Each part with its length, so that no two different keys read the same when joined.
    text = "".join(f"{len(part)}:{part}" for part in row_key(record))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest().encode()
