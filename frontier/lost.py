"""The search for leases that nobody will ever end, one for each topic that they are released to."""

from collections.abc import Mapping
from typing import Protocol

from frontier.owned import Owned
from frontier.results import expire
from infra.errors import RetryLater
from infra.kafka.partition_owner import GroupOffsets
from infra.kafka.topics import TopicName
from infra.settings import Settings

READERS = {TopicName.URLS: "odradek-fetchers", TopicName.RENDERS: "odradek-renderers"}
"""Who fetches what is released to each topic."""


class Elsewhere(Protocol):
    """What others have done (:class:`infra.kafka.partition_owner.GroupOffsets` of the fetchers, or the renderers)."""

    def committed(self, partition: int) -> int:
        """The next offset of their topic that they would read."""
        ...

    def end(self, partition: int, topic: TopicName) -> int:
        """The offset after the last record of a topic."""
        ...


def is_passed(number: int, owned: Owned, topic: TopicName, readers: Elsewhere) -> bool:
    """Whether every result of what was released to ``topic`` before its watch began has been read.

    Raises :class:`RetryLater`.
    """
    watch = owned.watches[topic]
    if watch.end is None and not owned.publisher.owes(watch.bundle):
        watch.end = readers.end(number, topic)
    if watch.end is None:
        return False
    if watch.answers is None and readers.committed(number) >= watch.end:
        watch.answers = readers.end(number, TopicName.FETCHES)
    return watch.answers is not None and owned.positions[TopicName.FETCHES] >= watch.answers


class Search:
    """Asks how far the readers are, a step at a time. One thread's own."""

    def __init__(self, settings: Settings, worker: str) -> None:
        self._readers = {topic: GroupOffsets(settings, worker, group, topic) for topic, group in READERS.items()}

    def step(self, owned: Mapping[int, Owned], now_s: float) -> None:
        """Take back what nobody will answer, as far as that is known by now."""
        try:
            for number, each in owned.items():
                self._step(number, each, now_s)
        except RetryLater:
            # Nobody is lost who is looked for a little later.
            return

    def _step(self, number: int, owned: Owned, now_s: float) -> None:
        out = {lease.topic for lease in owned.partition.leases.values()}
        for topic, watch in owned.watches.items():
            if topic not in out:
                watch.stop()
            elif watch.at_s is None:
                watch.begin(now_s, owned.publisher.newest)
            elif is_passed(number, owned, topic, self._readers[topic]):
                owned.begin()
                expire(owned.partition, topic, watch.at_s, now_s)
                watch.stop()
                owned.settle()

    def close(self) -> None:
        """Close the connections."""
        for group in self._readers.values():
            group.close()
