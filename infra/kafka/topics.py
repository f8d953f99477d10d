"""The topics of ``topics.toml``, typed."""

import tomllib
from datetime import timedelta
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict


class TopicName(StrEnum):
    """Each topic by its field-standard name; a typo fails the type checker, not the broker."""

    SEEDS = "seeds"
    LINKS = "links"
    URLS = "urls"
    RENDERS = "renders"
    FETCHES = "fetches"
    PAGES = "pages"
    DOCUMENTS = "documents"
    VERSIONS = "versions"
    CHANGES = "changes"
    FRONTIER_STATE = "frontier-state"
    ROBOTS = "robots"
    CONTROL = "control"
    HEARTBEATS = "heartbeats"
    EVENTS = "events"
    DEAD_LETTERS = "dead-letters"


class Topic(BaseModel):
    """One table of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    records: list[str]
    writers: list[str]
    readers: list[str]
    cleanup: Literal["delete", "compact"]
    partitions: int | Literal["shared"]
    retention_hours: int | None = None
    retention_gib: int | None = None
    max_record_kib: int
    note: str

    @property
    def max_record_bytes(self) -> int:
        """The largest record that may be produced, before compression."""
        return self.max_record_kib * 1024

    @property
    def retention(self) -> timedelta | None:
        """How long a record is kept; ``None``: for ever."""
        return None if self.retention_hours is None else timedelta(hours=self.retention_hours)

    def partition_count(self, shared: int) -> int:
        """How many partitions the topic has where co-partitioned topics have ``shared``."""
        return shared if self.partitions == "shared" else self.partitions

    def broker_config(self, shared: int) -> dict[str, str]:
        """The topic's settings on the broker; ``retention.bytes`` there is per partition."""
        config = {
            "cleanup.policy": self.cleanup,
            # Kafka's limit is on the compressed batch with its framing: a little above the record's own.
            "max.message.bytes": str(self.max_record_bytes + 64 * 1024),
            "compression.type": "producer",
        }
        if self.retention is not None:
            config["retention.ms"] = str(int(self.retention.total_seconds() * 1000))
        if self.retention_gib is not None:
            config["retention.bytes"] = str(self.retention_gib * 2**30 // self.partition_count(shared))
        return config


@cache
def all_topics() -> dict[TopicName, Topic]:
    """Every topic, in the order of the file."""
    tables = tomllib.loads(files("infra.kafka").joinpath("topics.toml").read_text())
    return {TopicName(name): Topic.model_validate(table) for name, table in tables.items()}
