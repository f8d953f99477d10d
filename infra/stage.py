"""What a stage is, as the runner sees it, and what the runner gives it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from infra.kafka.control import Control
from infra.settings import Settings


@dataclass(frozen=True)
class Context:
    """What a stage is made with. ``worker`` is unique among living workers: STAGE-HOST-PID."""

    worker: str
    settings: Settings
    control: Control
    """Started; follows the definitions of crawls."""


class Progress(NamedTuple):
    """For liveness: ``finished`` grows with each unit of work done, ``waiting`` tells whether there is any to do."""

    finished: int
    waiting: bool


class Stage(Protocol):
    """A stage of the pipeline. Made with a :class:`Context`; found by its entry point in ``odradek.stages``."""

    def __init__(self, context: Context) -> None: ...

    async def run(self, stopping: asyncio.Event) -> None:
        """Work until ``stopping`` is set, then drain and return.

        Raises :class:`infra.errors.UserError` or :class:`infra.errors.Fatal` when it cannot go on.
        """
        ...

    def ready(self) -> bool:
        """Whether it takes work."""
        ...

    def progress(self) -> Progress:
        """How far it is."""
        ...

    def partitions(self) -> list[int]:
        """What it owns of its input."""
        ...

    def counts(self) -> Mapping[str, int]:
        """Its figures by name, for the heartbeat."""
        ...

    def positions(self) -> Mapping[str, int]:
        """``topic/partition`` to the first offset not yet reflected in :meth:`counts`; empty without state."""
        ...


@runtime_checkable
class Explains(Protocol):
    """A stage that can tell what it knows of one URL: served as ``/explain``."""

    async def explain(self, partition: int, crawl: str, url: str) -> Mapping[str, object] | None:
        """What it knows now, as JSON has it; ``None`` when it does not own the partition, which is the URL's host's."""
        ...


@runtime_checkable
class ListsHosts(Protocol):
    """A stage that can tell which hosts it has work for: served as ``/hosts``."""

    async def hosts(self, search: str, limit: int) -> Sequence[Mapping[str, object]]:
        """The hosts whose names hold ``search``, those with most URLs waiting first, as JSON has them."""
        ...
