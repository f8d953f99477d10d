"""What waits for one host: a queue for each crawl and lane, and whose turn it is.

Turns are given by stride scheduling (Waldspurger, Weihl: "Stride Scheduling", 1995): each queue has a virtual time,
which grows by 1/weight with each URL taken, and the least goes first. So a crawl with ten thousand URLs and one with
ten share a host as their weights say, a flood of new URLs does not starve what is tried again, and a queue that was
empty has no claim on the time it missed.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter

from frontier.entry import Entry, Lane
from frontier.store import Store

LANE_WEIGHTS = {Lane.FRESH: 8, Lane.RECRAWL: 4, Lane.RETRY: 4, Lane.BULK: 1}
"""URLs of each lane in a row of turns, where all have some."""

Place = tuple[str, Lane]


@dataclass(slots=True)
class Queue:
    """The URLs of one crawl and lane that wait for a host."""

    crawl: str
    lane: Lane
    queued: int = 0
    """In the store, those of ``head`` included."""
    head: deque[Entry] = field(default_factory=deque)
    """The first in order, all of them due; none is leased."""
    ready_s: float = 0.0
    """Nothing of it is due before."""
    turn: float = 0.0
    """Its virtual time."""


class Queues:
    """All queues of one host. The store holds every URL; memory holds how many, and the first few."""

    def __init__(self) -> None:
        self._queues: dict[Place, Queue] = {}
        self._turn = 0.0

    def __len__(self) -> int:
        return sum(queue.queued for queue in self._queues.values())

    def __bool__(self) -> bool:
        return bool(self._queues)

    def __iter__(self) -> Iterator[Queue]:
        return iter(self._queues.values())

    def load(self, crawl: str, lane: Lane, queued: int) -> None:
        """What the store holds of one queue."""
        self._queue((crawl, lane)).queued = queued

    def add(self, entry: Entry, hot_entries: int) -> None:
        """One more waits, in the store already."""
        queue = self._queue((entry.crawl, entry.lane))
        is_whole = queue.queued == len(queue.head) < hot_entries
        queue.queued += 1
        queue.ready_s = min(queue.ready_s, entry.due_s)
        if queue.head and entry.rank < queue.head[-1].rank:
            # It belongs before something that is in memory: read them again, in order.
            queue.head.clear()
        elif is_whole and entry.due_s == 0.0:
            # Only a head that is the whole queue may grow at its end: otherwise something on disk comes before.
            queue.head.append(entry)

    def take(self, entry: Entry, weight: int) -> None:
        """The first of its queue waits no longer; ``weight`` is its crawl's."""
        place = (entry.crawl, entry.lane)
        queue = self._queues[place]
        queue.head.popleft()
        queue.queued -= 1
        self._turn = queue.turn
        queue.turn += 1.0 / (LANE_WEIGHTS[entry.lane] * weight)
        if not queue.queued:
            del self._queues[place]

    def drop(self, entries: list[Entry]) -> None:
        """Some wait no longer, from wherever in their queues."""
        for entry in entries:
            place = (entry.crawl, entry.lane)
            queue = self._queues[place]
            queue.head.clear()
            queue.queued -= 1
            if not queue.queued:
                del self._queues[place]

    def first(
        self, now_s: float, read: Callable[[Queue], list[Entry]], is_paused: Callable[[str], bool]
    ) -> Entry | None:
        """The URL whose turn it is; ``None`` when none is due. ``read`` gives the first of a queue, due or not."""
        for queue in sorted(self._queues.values(), key=attrgetter("turn")):
            if queue.ready_s > now_s or is_paused(queue.crawl):
                continue
            if not queue.head:
                found = read(queue)
                queue.head.extend(entry for entry in found if entry.due_s <= now_s)
                if found and not queue.head:
                    queue.ready_s = found[0].due_s
            if queue.head:
                return queue.head[0]
        return None

    def ready_s(self, is_paused: Callable[[str], bool]) -> float | None:
        """When the first of those that may be released is due; ``None`` when there are none."""
        return min((queue.ready_s for queue in self._queues.values() if not is_paused(queue.crawl)), default=None)

    def _queue(self, place: Place) -> Queue:
        queue = self._queues.get(place)
        if queue is None:
            queue = self._queues[place] = Queue(*place, turn=self._turn)
        return queue


def reader(store: Store, host: str, hot_entries: int) -> Callable[[Queue], list[Entry]]:
    """Reads the first URLs of a host's queue from the store."""
    return lambda queue: store.head(host, (queue.crawl, queue.lane), hot_entries)
