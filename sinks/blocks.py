"""Cut what was read into blocks: a pure function from raw records to decoded ones."""

from collections import defaultdict
from collections.abc import Iterable

from infra.errors import NeverValid
from infra.kafka.inbound import Inbound
from infra.kafka.topics import TopicName
from infra.telemetry import tracing
from schemas.records import Decision, Document, Fetch
from schemas.wire import Undecodable, decode
from sinks.keys import Content
from sinks.sink import Block, Entry

MODELS: dict[TopicName, type[Content]] = {
    TopicName.DOCUMENTS: Document,
    TopicName.FETCHES: Fetch,
    TopicName.EVENTS: Decision,
}
"""What stands in each topic that a sink can take."""


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
