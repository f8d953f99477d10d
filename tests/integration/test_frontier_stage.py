"""The frontier as it runs: its own processes and directories, a real Kafka; the test plays the fetchers."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition
from frontier_scene import fetch

from infra.kafka.clients import consumer_config
from infra.kafka.control import definition
from infra.kafka.heartbeats import Heartbeats
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from schemas.outcomes import Outcome
from schemas.records import Crawl, Links, Reason, Request
from schemas.wire import decode, encode
from tests.conftest import PARTITIONS

pytestmark = pytest.mark.timeout(180)

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 40.0
DELAY_S = 0.25
HOSTS, PATHS = 12, 14


class World:
    """Hands links over, answers every request at once, and holds the frontier to its promises."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.crawl = f"crawl-{uuid4().hex[:12]}"
        self.frontiers: list[Frontier] = []
        self.answered: set[str] = set()
        self.requests = 0
        self.broken: list[str] = []
        self._answered_s: dict[str, float] = {}
        self._producer = Producer(settings, "test-world")
        self._consumer = Consumer(consumer_config(settings, "test-world", "odradek-fetchers"))
        places = [TopicPartition(TopicName.URLS, number) for number in range(PARTITIONS)]
        ends = [self._consumer.get_watermark_offsets(place, timeout=10)[1] for place in places]
        self._consumer.assign([TopicPartition(TopicName.URLS, number, end) for number, end in enumerate(ends)])
        self._heartbeats = Heartbeats(settings)

    def close(self) -> None:
        """End every process and connection."""
        for frontier in self.frontiers:
            frontier.kill()
        self._consumer.close()
        self._heartbeats.close()

    def send(self, records: list[Outbound]) -> None:
        """Write records."""
        for record in records:
            self._producer.send(record, lambda _error: None)
        assert self._producer.flush(timedelta(seconds=20)) == 0

    def begin(self) -> set[str]:
        """Define the crawl and hand its links over, each twice; the URLs."""
        milliseconds = round(DELAY_S * 1000)
        now = datetime.now(UTC)
        self.send([definition(Crawl(name=self.crawl, follow_robots=False, delay_ms=milliseconds, created_at=now))])
        hosts = {f"h{number}.{self.crawl}.test": list[str]() for number in range(HOSTS)}
        for host, urls in hosts.items():
            urls += [f"http://{host}/{path}" for path in range(PATHS)]
        links = [
            Links(crawl=self.crawl, host=host, reason=Reason.LINK, depth=1, urls=urls) for host, urls in hosts.items()
        ]
        self.send([Outbound(TopicName.LINKS, each.host.encode(), encode(each)) for each in [*links, *links]])
        return {url for urls in hosts.values() for url in urls}

    def work(self) -> None:
        """Answer what has come out, and commit it as fetchers do."""
        messages = self._consumer.consume(200, 0.05)
        answers: list[Outbound] = []
        for message in messages:
            value = message.value()
            assert message.error() is None
            assert isinstance(value, bytes)
            request = decode(Request, value)
            if request.crawl == self.crawl:
                answers.append(self._answer(request))
        self.send(answers)
        if messages:
            self._consumer.commit(offsets=self._consumer.position(self._consumer.assignment()), asynchronous=False)

    def _answer(self, request: Request) -> Outbound:
        self.requests += 1
        if request.url in self.answered:
            self.broken.append(f"{request.url} was requested after its result")
        if time.monotonic() - self._answered_s.get(request.host, 0.0) < DELAY_S:
            self.broken.append(f"{request.host} was asked too early")
        # Before it is sent: the frontier may read it, and its delay run, before we hear that Kafka has it.
        self._answered_s[request.host] = time.monotonic()
        self.answered.add(request.url)
        return Outbound(TopicName.FETCHES, request.host.encode(), encode(fetch(request, Outcome.OK)))

    def work_until(self, holds: Callable[[], bool]) -> None:
        """Answer until it holds."""
        deadline = time.monotonic() + WAIT_S
        while not holds():
            assert time.monotonic() < deadline, f"{len(self.answered)} URLs were answered; {self._logs()}"
            self.work()

    def owns(self, frontier: "Frontier") -> int:
        """How many partitions a frontier has, by its heartbeat."""
        beats = self._heartbeats.read(timedelta(milliseconds=1))
        return sum(len(beat.partitions) for beat in beats if beat.worker.endswith(f"-{frontier.pid}"))

    def figures(self, frontier: "Frontier") -> dict[str, int]:
        """The crawl's figures, by a frontier's heartbeat."""
        prefix = f"crawl/{self.crawl}/"
        beats = self._heartbeats.read(timedelta(milliseconds=1))
        counts = next((beat.counts for beat in beats if beat.worker.endswith(f"-{frontier.pid}")), {})
        return {name.removeprefix(prefix): count for name, count in counts.items() if name.startswith(prefix) and count}

    def start(self, data_dir: Path) -> "Frontier":
        """Start a frontier."""
        self.frontiers.append(Frontier(self.settings, data_dir))
        return self.frontiers[-1]

    def _logs(self) -> str:
        return "\n".join(frontier.log.read_text()[-2_000:] for frontier in self.frontiers)


class Frontier:
    """A frontier in a process of its own."""

    def __init__(self, settings: Settings, data_dir: Path) -> None:
        self.data_dir = data_dir
        data_dir.mkdir(exist_ok=True)
        self.log = data_dir / "frontier.log"
        environment = os.environ | {
            "KAFKA_BOOTSTRAP_SERVERS": str(settings.kafka_bootstrap_servers),
            "ODRADEK_DATA_DIR": str(data_dir),
            "ODRADEK_KAFKA__SESSION_TIMEOUT": "PT6S",
            "ODRADEK_KAFKA__HEARTBEAT_INTERVAL": "PT1S",
            "ODRADEK_FRONTIER__LEASE_TIMEOUT": "PT4S",
            "ODRADEK_LOG_FORMAT": "text",
        }
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "infra.cli", "run", "frontier"]
            self._process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=log, stderr=log)
        self.pid = self._process.pid

    def kill(self, *, wipe: bool = False) -> None:
        """End it as a power cut would, with or without its disk."""
        self._process.kill()
        self._process.wait(10)
        if wipe:
            shutil.rmtree(self.data_dir / "frontier")

    def stop(self) -> None:
        """Ask it to end; returns at once."""
        self._process.send_signal(signal.SIGTERM)

    @property
    def ended(self) -> int | None:
        """Its exit code."""
        return self._process.poll()


@pytest.fixture
def world(kafka_settings: Settings) -> Iterator[World]:
    """The rest of the pipeline."""
    made = World(kafka_settings)
    yield made
    made.close()


@pytest.mark.parametrize("wipe", [False, True])
def test_a_killed_frontier_loses_and_repeats_nothing(world: World, tmp_path: Path, wipe: bool) -> None:
    """Killed in the middle, with or without its disk: every URL is requested, none after its result, none too early."""
    first = world.start(tmp_path / "data")
    urls = world.begin()
    world.work_until(lambda: len(world.answered) > len(urls) // 3)
    first.kill(wipe=wipe)
    second = world.start(tmp_path / "data")
    world.work_until(lambda: world.answered == urls)
    world.work_until(lambda: world.figures(second) == {"pages": len(urls), "released": len(urls)})
    assert world.broken == []
    second.stop()
    world.work_until(lambda: second.ended is not None)
    assert second.ended == 0


def test_partitions_change_hands_in_both_directions(world: World, tmp_path: Path) -> None:
    """A second frontier joins, takes all, gives all back to the first one's old files: nothing is lost or repeated."""
    first = world.start(tmp_path / "first")
    urls = world.begin()
    world.work_until(lambda: len(world.answered) > len(urls) // 8)
    second = world.start(tmp_path / "second")
    world.work_until(lambda: world.owns(second) == PARTITIONS // 2)
    first.stop()
    world.work_until(lambda: first.ended is not None and world.owns(second) == PARTITIONS)
    third = world.start(tmp_path / "first")
    world.work_until(lambda: world.owns(third) == PARTITIONS // 2)
    second.stop()
    world.work_until(lambda: second.ended is not None and world.owns(third) == PARTITIONS)
    world.work_until(lambda: world.answered == urls)
    world.work_until(lambda: world.figures(third) == {"pages": len(urls), "released": len(urls)})
    assert (first.ended, second.ended) == (0, 0)
    assert world.requests == len(urls)
    assert world.broken == []
