"""Looks that no pipeline made."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from infra.kafka.lag import GROUPS, Offsets, Place
from infra.settings.monitor import MonitorSettings
from infra.telemetry.exposition import Series
from monitor.findings import Busy, Case
from monitor.hosts import HostTable
from monitor.letters import Letters
from monitor.look import Look
from monitor.picture import Picture
from schemas.letters import DeadLetter
from schemas.outcomes import Outcome
from schemas.records import Fetch, Heartbeat, Kind

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STAGES = ("fetchers", "frontier", "sinks", "streams")
STEP = timedelta(seconds=2)


def beat(stage: str, counts: Mapping[str, int] = {}, silent: timedelta = timedelta(0)) -> Heartbeat:
    """The sign of life of one worker of a stage."""
    return Heartbeat(
        worker=f"{stage}-1",
        stage=stage,
        url="http://127.0.0.1:1",
        started_at=NOW,
        at=NOW - silent,
        every_s=1,
        ready=True,
        partitions=[0],
        counts=dict(counts),
        positions={},
    )


def series(name: str, **labels: str) -> Series:
    """One time series."""
    return Series(name, tuple(sorted(labels.items())))


def offsets(behind: Mapping[str, int] = {}) -> Offsets:
    """Offsets of one partition of each topic, where each group is ``behind`` on its first topic."""
    ends: dict[Place, int] = {(topic, 0): 1_000_000 for topics in GROUPS.values() for topic in topics}
    committed: dict[str, dict[Place, int]] = {
        group: {(topic, 0): 1_000_000 - (behind.get(group, 0) if topic == topics[0] else 0) for topic in topics}
        for group, topics in GROUPS.items()
    }
    return Offsets(ends, dict.fromkeys(ends, 0), committed)


class World:
    """A pipeline of four workers that is looked at every two seconds."""

    def __init__(self, history: timedelta = timedelta(minutes=30)) -> None:
        self.picture = Picture(MonitorSettings(look_every=STEP, history=history))
        self.hosts, self.letters = HostTable(1_000), Letters()
        self.counters: dict[str, dict[Series, float]] = {f"{stage}-1": {} for stage in STAGES}
        self.beats = {stage: beat(stage) for stage in STAGES}
        self.behind: dict[str, int] = {}
        self.busy: list[Busy] = []
        self.disk_free = {"data": 0.5}
        self.now_s = 100.0

    def count(self, stage: str, counted: Series, by: float = 1) -> None:
        """Let a counter of a worker grow."""
        counters = self.counters[f"{stage}-1"]
        counters[counted] = counters.get(counted, 0.0) + by

    def fetched(self, outcome: Outcome, by: int = 1) -> None:
        """Let the fetchers end some attempts."""
        self.count("fetchers", series("odradek_fetches_total", outcome=outcome, job="fetchers"), by)

    def look(self, times: int = 1) -> Look:
        """Look, ``times`` in a row."""
        for _ in range(times):
            samples = {worker: dict(counters) for worker, counters in self.counters.items()}
            look = Look(
                NOW, list(self.beats.values()), offsets(self.behind), samples=samples, disk_free=dict(self.disk_free)
            )
            self.picture.observe(look, self.now_s)
            self.now_s += STEP.total_seconds()
        return look

    def case(self) -> Case:
        """What a diagnosis would look at, after one more look."""
        return Case(self.look(), self.picture, self.hosts, self.busy, self.letters, [])


def fetch(host: str = "a.test", outcome: Outcome = Outcome.OK, took: timedelta = timedelta(seconds=1)) -> Fetch:
    """One attempt."""
    return Fetch(
        fetch_id="f", crawl="c", url=f"http://{host}/", url_id=b"1", host=host, kind=Kind.PAGE, lease="l", visit=0,
        attempt=0, depth=0, hops=0, parent=None, outcome=outcome, status=200, error=None, started_at=NOW, dns_ms=None,
        connect_ms=None, first_byte_ms=None, total_ms=took.total_seconds() * 1000, body_bytes=10, cut=None,
        content_type=None, redirect_to=None, retry_after=None, etag=None, last_modified=None, remote_address=None,
        robots=None, worker="w",
    )  # fmt: skip


def letter(number: int, topic: str = "pages", at: datetime = NOW) -> DeadLetter:
    """A dead letter; the same number is the same letter."""
    return DeadLetter(
        letter_id=str(number),
        stage="streams.pages",
        reason="undecodable",
        error="no Avro",
        topic=topic,
        partition=0,
        offset=number,
        key=b"k",
        value=b"v",
        attempts=1,
        at=at,
    )


def busy(host: str, queued: int, failures: int = 0, delay_s: float = 1.0) -> Busy:
    """A host with work."""
    return Busy(host, queued, 0, delay_s, 0.0, failures, 0, None)
