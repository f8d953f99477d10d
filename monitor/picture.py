"""What is known of the pipeline now, and its last half hour: bounded, pure, the clock passed in."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from infra.progress import FRONTIER
from infra.settings.monitor import MonitorSettings
from monitor.look import Look
from monitor.rates import Buckets, Increases, buckets, figures, quantile
from schemas.records import Heartbeat

LATENCY = "odradek_fetch_seconds"
WINDOW = timedelta(seconds=60)
"""Over which latencies are taken, and rates where a look alone would jump about."""


class State(StrEnum):
    """How a worker is, as far as its heartbeats tell."""

    ALIVE = "alive"
    LATE = "late"
    GONE = "gone"


@dataclass(frozen=True)
class Point:
    """What one look found: a moment of every graph."""

    at: datetime
    seconds: float
    """Since the look before."""
    grown: Mapping[str, float]
    """See :data:`monitor.rates.FIGURES`."""
    lag: Mapping[str, int]
    """By group."""
    frontier: Mapping[str, int]
    """Its figures over all crawls and workers."""
    p50_s: float | None
    p95_s: float | None


@dataclass
class Picture:
    """Made of looks."""

    settings: MonitorSettings
    look: Look | None = None
    """The newest."""
    points: deque[Point] = field(default_factory=deque)
    crawls: dict[str, dict[str, int]] = field(default_factory=dict)
    """The frontier's figures of each crawl."""
    _increases: Increases = field(default_factory=Increases)
    _latencies: deque[tuple[float, Buckets]] = field(default_factory=deque)
    _looked_s: float | None = None

    def observe(self, look: Look, now_s: float) -> None:
        """Take a look that was made at monotonic time ``now_s``."""
        grown = self._increases.observe(look.samples)
        self._increases.forget({beat.worker for beat in look.beats})
        self._latencies.append((now_s, buckets(grown, LATENCY)))
        while self._latencies[0][0] < now_s - WINDOW.total_seconds():
            self._latencies.popleft()
        merged: defaultdict[float, float] = defaultdict(float)
        for _, counts in self._latencies:
            for bound, count in counts.items():
                merged[bound] += count
        over_all, self.crawls = _frontier(look.beats)
        self.points.append(
            Point(
                at=look.at,
                seconds=0.0 if self._looked_s is None else now_s - self._looked_s,
                grown=figures(grown),
                lag={group: sum(look.offsets.lag(group).values()) for group in look.offsets.groups},
                frontier=over_all,
                p50_s=quantile(0.5, merged),
                p95_s=quantile(0.95, merged),
            )
        )
        self._looked_s = now_s
        self.look = look
        kept = int(self.settings.history / self.settings.look_every) + 1
        while len(self.points) > kept:
            self.points.popleft()

    def rate(self, figure: str, window: timedelta = WINDOW) -> float:
        """How much of a figure there was in a second, over the last ``window``."""
        recent = list(self.recent(window))
        seconds = sum(point.seconds for point in recent)
        return sum(point.grown[figure] for point in recent) / seconds if seconds else 0.0

    def grown(self, figure: str, window: timedelta = WINDOW) -> float:
        """How much of a figure there was in the last ``window``."""
        return sum(point.grown[figure] for point in self.recent(window))

    def recent(self, window: timedelta = WINDOW) -> Iterator[Point]:
        """The points of the last ``window``, newest first."""
        left_s = window.total_seconds()
        for point in reversed(self.points):
            if left_s <= 0:
                return
            left_s -= point.seconds
            yield point

    def state(self, beat: Heartbeat, now: datetime) -> State:
        """How a worker is."""
        silent = now - beat.at
        if silent >= self.settings.gone_after:
            return State.GONE
        return State.LATE if silent >= self.settings.late_after else State.ALIVE


def _frontier(beats: Iterable[Heartbeat]) -> tuple[Counter[str], dict[str, dict[str, int]]]:
    """The frontier's figures over all, and those of each crawl."""
    over_all: Counter[str] = Counter()
    crawls: dict[str, Counter[str]] = {}
    for beat in beats:
        if beat.stage != FRONTIER:
            continue
        for name, count in beat.counts.items():
            if name.startswith("crawl/"):
                crawl, _, what = name.removeprefix("crawl/").rpartition("/")
                crawls.setdefault(crawl, Counter())[what] += count
            else:
                over_all[name] += count
    return over_all, {crawl: dict(counts) for crawl, counts in crawls.items()}
