"""Settings of the sinks."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from infra.settings.group import Group

SinkTopic = Literal["documents", "fetches", "events", "pages"]
StoreName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
"""Part of a consumer group's name and label of metrics."""


class BreakerSettings(Group):
    """When a store that is in trouble is left alone."""

    failures: int = Field(default=5, ge=1)
    """Writes in a row that fail until no more are tried for a while."""
    first_wait: timedelta = Field(default=timedelta(seconds=2), gt=timedelta(0))
    longest_wait: timedelta = Field(default=timedelta(seconds=30), gt=timedelta(0), le=timedelta(minutes=10))
    """Until one write is tried again: twice as long each time, and what a store is out at most after it is back."""


class StoreSettings(Group):
    """One store that is written to, by a consumer group of its own: ``odradek-sink-NAME``."""

    dsn: str = Field(default="clickhouse:", repr=False)
    """Its scheme chooses the kind. ``clickhouse:`` is the server of ``CLICKHOUSE_URL``, else the embedded engine."""
    topics: tuple[SinkTopic, ...] = ("documents", "fetches", "events")
    crawls: tuple[str, ...] = ()
    """Records of these crawls alone; empty takes all. So do the next two."""
    hosts: tuple[str, ...] = ()
    """Canonical hosts, with or without port; ``*.example.org`` is every host below it."""
    languages: tuple[str, ...] = ()
    """ISO 639 codes of documents."""
    max_records: int = Field(default=2_000, ge=1, le=100_000)
    """Of one topic in one write."""
    linger: timedelta = timedelta(seconds=1)
    """How long a write waits for more records: what a reader waits for a row, against the cost of small writes."""
    breaker: BreakerSettings = BreakerSettings()


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

    stores: dict[StoreName, StoreSettings] = {"clickhouse": StoreSettings()}
    """By name, which is the last part of the consumer group's; several of one kind need different names."""
    file: Path | None = None
    """More of them: TOML with a table for each, read again when it changes. Who is added, changed or removed there is
    so while the sinks run."""
    clickhouse: ClickHouseSettings = ClickHouseSettings()
