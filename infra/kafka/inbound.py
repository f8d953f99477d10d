"""A record as it was read, whichever client read it."""

from collections.abc import Iterable
from typing import NamedTuple

from confluent_kafka import Message


class Inbound(NamedTuple):
    """Raw bytes and where they stand. ``headers`` holds the last value of each name."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: dict[str, bytes]
    timestamp_ms: int
    """Informational only: producers set it."""


def from_message(message: Message) -> Inbound:
    """A librdkafka message, copied out of its buffers."""
    key, value = message.key(), message.value()
    headers: Iterable[tuple[str, object]] = message.headers() or ()  # type: ignore[assignment]  # it is always a list
    return Inbound(
        message.topic() or "",
        message.partition() or 0,
        message.offset() or 0,
        key.encode() if isinstance(key, str) else key,
        value.encode() if isinstance(value, str) else value,
        {name: part for name, part in headers if isinstance(part, bytes)},
        message.timestamp()[1],
    )
