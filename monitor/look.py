"""One look at the pipeline, as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from infra.kafka.groups import Group
from infra.kafka.lag import Offsets
from infra.telemetry.exposition import Series
from schemas.records import Heartbeat

Samples = Mapping[Series, float]


@dataclass(frozen=True)
class Look:
    """What was read at one moment. A worker that did not answer is missing in ``samples`` and named in ``silent``."""

    at: datetime
    beats: Sequence[Heartbeat]
    offsets: Offsets
    groups: Mapping[str, Group] = field(default_factory=dict)
    samples: Mapping[str, Samples] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)
    """Workers whose metrics could not be read, and why."""
    disk_free: Mapping[str, float] = field(default_factory=dict)
    """Share of each directory's file system that is free, by what the directory is for."""
