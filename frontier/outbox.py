"""What a transaction owes to Kafka, as bytes in the store until the broker has it.

A bundle has two parts. The changes of the state go to the changelog first; only when the broker has them may the rest
follow. So whatever the world has seen of a decision can be restored from the changelog, also without the disk.
"""

from struct import Struct
from typing import NamedTuple

from infra.kafka.producer import Headers, Outbound
from infra.kafka.topics import TopicName

_LENGTH = Struct(">i")
_NONE = -1
_SAME = _LENGTH.pack(_NONE)
"""In the place of a topic."""


class Bundle(NamedTuple):
    """What one transaction owes."""

    changes: list[Outbound]
    rest: list[Outbound]


def pack(bundle: Bundle) -> bytes:
    """The bundle as bytes. A record whose destination and headers are those of the one before does not repeat them."""
    parts: list[bytes] = []
    for records in bundle:
        parts.append(_LENGTH.pack(len(records)))
        before: Outbound | None = None
        for record in records:
            if before is not None and record.topic == before.topic and record[3:] == before[3:]:
                parts.append(_SAME)
            else:
                _add(parts, record.topic.encode())
                _add_place(parts, record)
            _add(parts, record.key)
            _add(parts, record.value)
            before = record
    return b"".join(parts)


def unpack(packed: bytes) -> Bundle:
    """The bundle that was packed."""
    reader = _Reader(packed)
    return Bundle(reader.records(), reader.records())


def _add(parts: list[bytes], part: bytes | None) -> None:
    parts.append(_LENGTH.pack(_NONE if part is None else len(part)))
    if part is not None:
        parts.append(part)


def _add_place(parts: list[bytes], record: Outbound) -> None:
    parts.append(_LENGTH.pack(record.partition))
    parts.append(_LENGTH.pack(len(record.headers)))
    for name, value in record.headers:
        _add(parts, name.encode())
        _add(parts, value.encode() if isinstance(value, str) else value)


class _Reader:
    def __init__(self, packed: bytes) -> None:
        self._packed = packed
        self._place = 0

    def number(self) -> int:
        (value,) = _LENGTH.unpack_from(self._packed, self._place)
        self._place += _LENGTH.size
        return int(value)

    def part(self) -> bytes | None:
        size = self.number()
        if size == _NONE:
            return None
        self._place += size
        return self._packed[self._place - size : self._place]

    def records(self) -> list[Outbound]:
        records: list[Outbound] = []
        for _ in range(self.number()):
            topic = self.part()
            place = records[-1] if topic is None else self._place_of(TopicName(topic.decode()))
            records.append(place._replace(key=self.part(), value=self.part()))
        return records

    def _place_of(self, topic: TopicName) -> Outbound:
        partition = self.number()
        headers: Headers = [((self.part() or b"").decode(), self.part()) for _ in range(self.number())]
        return Outbound(topic, None, None, headers, partition)
