"""A record as it was read, whichever client read it."""

from typing import NamedTuple


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
