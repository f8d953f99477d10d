"""Settings of the sinks."""

from datetime import timedelta
from typing import Literal

from pydantic import Field

from infra.settings.group import Group

SinkTopic = Literal["documents", "fetches", "events"]


class StoreSettings(Group):
    """One store that is written to, by a consumer group of its own: ``odradek-sink-NAME``."""

    dsn: str = Field(default="clickhouse:", repr=False)
    """Its scheme chooses the kind. ``clickhouse:`` is the server of ``CLICKHOUSE_URL``, else the embedded engine."""
    topics: tuple[SinkTopic, ...] = ("documents", "fetches", "events")
    max_records: int = Field(default=2_000, ge=1, le=100_000)
    """Of one topic in one write."""
    linger: timedelta = timedelta(seconds=1)
    """How long a write waits for more records: what a reader waits for a row, against the cost of small writes."""


class ClickHouseSettings(Group):
    """What is particular to ClickHouse."""

    ttl: timedelta | None = Field(default=None, ge=timedelta(hours=1))
    """How long rows are kept, by the time of the fetch; ``None`` keeps them for ever."""
    http_address: str = "127.0.0.1"
    http_port: int = Field(default=0, ge=0, le=65_535)
    """Where the embedded engine is served for reading; 0 takes a free port, which ``clickhouse.endpoint`` names."""
    http_writable: bool = False
    """Whether that door also takes statements that change something."""
    query_timeout: timedelta = timedelta(seconds=60)
    """Of one query through that door."""
    query_memory_mib: int = Field(default=2_048, ge=64)
    """What one query through that door may use, so that it cannot take the memory the inserts need."""
    concurrent_queries: int = Field(default=4, ge=1, le=64)
    """Through that door; more wait their turn."""


class SinkSettings(Group):
    """What can be set about the sinks."""

    stores: dict[str, StoreSettings] = {"clickhouse": StoreSettings()}
    """By name, which is the last part of the consumer group's; several of one kind need different names."""
    clickhouse: ClickHouseSettings = ClickHouseSettings()
