"""The records that dead letters are about: rebuilt to be sent again, and found where they were."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from infra.dead_letters.ledger import Entry
from infra.errors import UserError
from infra.kafka.inbound import Inbound
from infra.kafka.partition_reader import records_between
from infra.kafka.partitioner import partition_of
from infra.kafka.producer import Outbound
from infra.kafka.topics import TopicName, all_topics
from infra.settings import Settings
from schemas.letters import DeadLetter

REQUEUED = "odradek-requeued"
"""Header of a record that was sent again: the id of its letter."""


class Letter(NamedTuple):
    """A letter whole, as it stands in the topic."""

    entry: Entry
    content: DeadLetter
    headers: dict[str, bytes]


class Originals:
    """Of one cluster, whose topics have so many ``partitions``."""

    def __init__(self, settings: Settings, partitions: Mapping[str, int]) -> None:
        self._settings = settings
        self._partitions = partitions

    def record(self, letter: Letter) -> Outbound:
        """The record with its key, bytes and headers, and one header more. Raises :class:`UserError` saying why not."""
        content = letter.content
        if content.topic not in self._partitions or content.topic not in set(TopicName):
            raise UserError(f"there is no topic {content.topic}")
        topic = TopicName(content.topic)
        key, value = (content.key, content.value) if not content.truncated else self._source(content, topic)
        if len(key or b"") + len(value or b"") > all_topics()[topic].max_record_bytes:
            raise UserError(f"the record is over the limit of topic {topic}")
        headers = [(name, part) for name, part in letter.headers.items() if name != REQUEUED]
        return Outbound(topic, key, value, [*headers, (REQUEUED, content.letter_id.encode())])

    def _source(self, content: DeadLetter, topic: TopicName) -> tuple[bytes | None, bytes | None]:
        """Key and value of a record that was too large to be kept: they may still stand where it came from."""
        if content.partition < self._partitions[topic]:
            end = content.offset + 1
            for record in records_between(self._settings, topic, content.partition, content.offset, end):
                return record.key, record.value
        raise UserError(f"its bytes were not kept, and {topic}/{content.partition}/{content.offset} is gone")

    def sent(self, records: Mapping[str, Outbound], since: datetime) -> set[str]:
        """Ids of the letters among ``records`` whose record was sent again since then: its header tells."""
        wanted = {letter_id.encode(): letter_id for letter_id in records}
        places = {(record.topic, number) for record in records.values() for number in self._numbers(record)}
        found: set[str] = set()
        for topic, number in sorted(places):
            for each in records_between(self._settings, topic, number, since):
                found |= _named(each, wanted)
        return found

    def _numbers(self, record: Outbound) -> list[int]:
        """Where the record may stand."""
        count = self._partitions[record.topic]
        return list(range(count)) if record.key is None else [partition_of(record.key, count)]


def _named(record: Inbound, wanted: Mapping[bytes, str]) -> set[str]:
    letter_id = wanted.get(record.headers.get(REQUEUED, b""))
    return set() if letter_id is None else {letter_id}
