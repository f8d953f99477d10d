"""Cut what was read into blocks: a pure function from raw records to decoded ones."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from infra.errors import NeverValid
from infra.kafka.inbound import Inbound
from infra.kafka.topics import TopicName
from infra.telemetry import tracing
from schemas.records import Decision, Document, Fetch, Page
from schemas.wire import Undecodable, decode
from sinks.keys import Content
from sinks.sink import Block, Entry

MODELS: dict[TopicName, type[Content]] = {
    TopicName.DOCUMENTS: Document,
    TopicName.FETCHES: Fetch,
    TopicName.EVENTS: Decision,
    TopicName.PAGES: Page,
}
"""What stands in each topic that a sink can take."""


MAX_PORTION_BYTES = 64 * 2**20
"""What is decoded and written at once, as it came: documents may be of 10 MB each."""


def portions(records: Sequence[Inbound], limit_bytes: int = MAX_PORTION_BYTES) -> Iterator[Sequence[Inbound]]:
    """The records in runs of at most ``limit_bytes``, in order; one that is larger alone is a run of its own."""
    first, size_bytes = 0, 0
    for place, record in enumerate(records):
        record_bytes = len(record.value or b"")
        if place > first and size_bytes + record_bytes > limit_bytes:
            yield records[first:place]
            first, size_bytes = place, 0
        size_bytes += record_bytes
    if first < len(records):
        yield records[first:]


def blocks(topic: TopicName, records: Iterable[Inbound]) -> list[Block]:
    """One block for each partition among ``records`` (all of ``topic``), in the order of the partitions.

    A record that was read twice is in its block once. Raises :class:`NeverValid` (``undecodable``) when a record is
    none of the kind that the topic holds.
    """
    model = MODELS[topic]
    by_partition: defaultdict[int, dict[int, Entry]] = defaultdict(dict)
    for record in records:
        try:
            content = decode(model, record.value)
        except Undecodable as error:
            raise NeverValid("undecodable", str(error)) from None
        entry = Entry(record.offset, content, tracing.read(record.headers))
        by_partition[record.partition][record.offset] = entry
    return [
        Block(topic, partition, tuple(found[offset] for offset in sorted(found)))
        for partition, found in sorted(by_partition.items())
    ]
