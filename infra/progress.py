"""How far a crawl is, and whether it is finished: pure decisions over heartbeats and offsets.

A URL is always somewhere: in a record that its reader has not committed, or in a frontier's queue or leases. So a crawl
is finished when it is found nowhere. One look cannot tell, since things move while one looks; :class:`Completion` looks
in the order in which they move.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from infra.kafka.lag import Offsets, Place
from infra.kafka.topics import TopicName
from schemas.records import Heartbeat

FRONTIER = "frontier"


@dataclass(frozen=True)
class Figures:
    """One crawl in numbers, over all living workers."""

    queued: int
    leased: int
    pages: int
    errors: int
    refused: int
    """URLs that were not fetched, by a decision."""
    hosts: int
    rows: int
    stages: Mapping[str, int]
    """Living workers by stage."""
    lag: Mapping[str, int]
    """Records behind, by consumer group."""


def figures(crawl: str, beats: Iterable[Heartbeat], offsets: Offsets) -> Figures:
    """What the newest heartbeats and offsets say about ``crawl``."""
    total: Counter[str] = Counter()
    stages: Counter[str] = Counter()
    for beat in beats:
        stages[beat.stage] += 1
        total.update(beat.counts)
    return Figures(
        queued=total[f"crawl/{crawl}/queued"],
        leased=total[f"crawl/{crawl}/leased"],
        pages=total[f"crawl/{crawl}/pages"],
        errors=total[f"crawl/{crawl}/errors"],
        refused=total[f"crawl/{crawl}/refused"],
        hosts=total["hosts"],
        rows=total["rows_documents"],
        stages=dict(stages),
        lag={group: sum(offsets.lag(group).values()) for group in offsets.groups},
    )


class Phase(IntEnum):
    """What :class:`Completion` has still to see."""

    FRONTIER_EMPTY = 0
    PAGES_READ = 1
    LINKS_READ = 2
    ROWS_WRITTEN = 3
    FINISHED = 4


class Completion:
    """Notices that a crawl is finished, also while other crawls go on in the same cluster.

    1. The frontier holds nothing of the crawl and has read all results: every page of the crawl is in ``pages``.
    2. The streams have read ``pages`` and ``seeds`` as far as they reached then: every link is in ``links``.
    3. The frontier has read ``links`` as far as they reached then, and still holds nothing: no URL is left anywhere.
    4. The sinks have read what there was then: every row is written.

    Finding anything on the way begins again: also a visit that has ended meanwhile, since its page may have come after
    the streams were asked. Seeds have to be in Kafka before the first look.
    """

    def __init__(self, crawl: str, sinks: Iterable[str]) -> None:
        self._crawl = crawl
        self._sinks = tuple(sinks)
        self._mark: dict[Place, int] = {}
        self._visits: Counter[str] = Counter()
        self.phase = Phase.FRONTIER_EMPTY

    def observe(self, beats: list[Heartbeat], offsets: Offsets) -> bool:
        """Take one look: ``beats`` read before ``offsets``. ``True`` once the crawl is finished."""
        visits = self._visits_in(beats)
        if self.phase < Phase.ROWS_WRITTEN and (visits != self._visits or not self._frontier_is_empty(beats)):
            self.phase = Phase.FRONTIER_EMPTY
        self._visits = visits
        while self.phase < Phase.FINISHED and self._passed(beats, offsets):
            self.phase = Phase(self.phase + 1)
            self._mark = dict(offsets.ends)
        return self.phase is Phase.FINISHED

    def _visits_in(self, beats: list[Heartbeat]) -> Counter[str]:
        """How many of the crawl's URLs have ended, in each way."""
        total: Counter[str] = Counter()
        for beat in beats:
            if beat.stage == FRONTIER:
                total.update({name: n for name, n in beat.counts.items() if name.startswith(f"crawl/{self._crawl}/")})
        return +total

    def _frontier_is_empty(self, beats: list[Heartbeat]) -> bool:
        frontiers = [beat for beat in beats if beat.stage == FRONTIER]
        held = (f"crawl/{self._crawl}/queued", f"crawl/{self._crawl}/leased", f"crawl/{self._crawl}/revisits", "outbox")
        return bool(frontiers) and not any(beat.counts.get(name, 0) for beat in frontiers for name in held)

    def _passed(self, beats: list[Heartbeat], offsets: Offsets) -> bool:
        match self.phase:
            case Phase.FRONTIER_EMPTY:
                read = _frontier_read(beats, offsets.ends, {TopicName.LINKS, TopicName.FETCHES})
                return read and self._frontier_is_empty(beats)
            case Phase.PAGES_READ:
                wanted = {TopicName.PAGES, TopicName.SEEDS}
                return _group_read("odradek-streams", offsets, self._mark, wanted)
            case Phase.LINKS_READ:
                return _frontier_read(beats, self._mark, {TopicName.LINKS})
            case Phase.ROWS_WRITTEN:
                return all(_group_read(group, offsets, self._mark, set(offsets.groups[group])) for group in self._sinks)
            case Phase.FINISHED:
                return False


def _frontier_read(beats: list[Heartbeat], ends: Mapping[Place, int], topics: set[TopicName]) -> bool:
    positions: dict[str, int] = {}
    for beat in beats:
        if beat.stage == FRONTIER:
            positions |= beat.positions
    places = [place for place in ends if place[0] in topics]
    return all(positions.get(f"{topic}/{partition}", -1) >= ends[topic, partition] for topic, partition in places)


def _group_read(group: str, offsets: Offsets, ends: Mapping[Place, int], topics: set[TopicName]) -> bool:
    done = offsets.committed[group]
    places = [place for place in ends if place[0] in topics]
    return all(done.get(place, offsets.starts.get(place, 0)) >= ends[place] for place in places)
