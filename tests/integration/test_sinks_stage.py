"""The stage as it runs: its own process, a real Kafka, the real engine."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition

from infra.kafka.clients import consumer_config
from infra.kafka.lag import LagReader
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.telemetry.tracing import trace_of
from schemas.letters import DeadLetter
from schemas.wire import Undecodable, decode, encode
from sinks.clickhouse import endpoint
from sinks.clickhouse.command import ask
from sinks.stores import group
from tests.unit.sinks.sink_samples import MAKERS, document

ROOT = Path(__file__).resolve().parents[2]
TOPICS = (TopicName.DOCUMENTS, TopicName.FETCHES, TopicName.EVENTS)
WAIT_S = 60.0


class Stage:
    """The sinks in a process of their own, with a consumer group that nobody else uses."""

    def __init__(self, settings: Settings, data_dir: Path) -> None:
        self.settings = settings.model_copy(update={"data_dir": data_dir})
        self.crawl = f"crawl-{uuid4().hex[:12]}"
        self.store = f"test-{uuid4().hex[:12]}"
        self.process: subprocess.Popen[bytes] | None = None
        self.log = data_dir / "sinks.log"
        self.beginnings = LagReader(settings, {group(self.store): TOPICS}).read().ends

    def begin(self) -> None:
        """Let the group start where the topics ended before this test: what others left there is not its work."""
        consumer = Consumer(consumer_config(self.settings, "test", group(self.store)))
        offsets = [TopicPartition(topic, number, end) for (topic, number), end in self.beginnings.items()]
        consumer.commit(offsets=offsets, asynchronous=False)
        consumer.close()

    def start(self) -> None:
        """Start, and wait until the engine can be asked."""
        environment = os.environ | {
            "KAFKA_BOOTSTRAP_SERVERS": str(self.settings.kafka_bootstrap_servers),
            "ODRADEK_DATA_DIR": str(self.settings.data_dir),
            "ODRADEK_SINKS__STORES": json.dumps({self.store: {"linger": 0.3, "max_records": 500}}),
            "ODRADEK_LOG_FORMAT": "text",
        }
        environment.pop("CLICKHOUSE_URL", None)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "infra.cli", "run", "sinks"], env=environment, cwd=ROOT, stdout=log, stderr=log
            )
        self.until(lambda: endpoint.living(self.settings.data_dir / "clickhouse") is not None)

    def kill(self) -> None:
        """End the process as a power cut would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(10)

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(40)

    def number(self, sql: str) -> int:
        """The one number that ``sql`` answers."""
        return int(ask(self.settings, sql, "TabSeparated"))

    def rows(self, table: str) -> int:
        """Rows of this test's crawl."""
        return self.number(f"SELECT count() FROM {table} WHERE crawl = '{self.crawl}'")

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until ``holds``; fails with the log when it never does."""
        deadline = time.monotonic() + WAIT_S
        while not holds():
            assert time.monotonic() < deadline, f"{self.state()}\n{self.log.read_text()[-4_000:]}"
            assert self.process is None or self.process.poll() is None, self.log.read_text()[-4_000:]
            time.sleep(0.2)

    def state(self) -> dict[str, object]:
        """What there is, for whoever has to find out why a test waited in vain."""
        offsets = LagReader(self.settings, {group(self.store): TOPICS}).read()
        return {table: self.rows(table) for table in ("documents", "fetches", "decisions")} | {
            "lag": offsets.lag(group(self.store)),
            "committed": dict(offsets.committed[group(self.store)]),
        }

    def caught_up(self) -> bool:
        """Whether the group has committed everything that there is."""
        groups = {group(self.store): TOPICS}
        offsets = LagReader(self.settings, groups).read()
        done = offsets.committed[group(self.store)]
        return all(done.get(place, offsets.starts[place]) >= end for place, end in offsets.ends.items())

    def produce(self, records: list[Outbound]) -> None:
        """Into Kafka, all of them."""
        assert Producer(self.settings, "test").send_all(records, timedelta(seconds=30)) == []

    def samples(self, topic: TopicName, numbers: range) -> list[Outbound]:
        """Records of this test's crawl, with a trace."""
        made = [MAKERS[topic](number, self.crawl) for number in numbers]
        return [
            Outbound(topic, each.host.encode(), encode(each), [trace_of(each.crawl, each.url_id, 0).header()])
            for each in made
        ]


@pytest.fixture
def stage(kafka_settings: Settings, tmp_path: Path) -> Iterator[Stage]:
    """A stage that is not started yet, and is gone afterwards."""
    made = Stage(kafka_settings, tmp_path)
    made.begin()
    yield made
    if made.process is not None and made.process.poll() is None:
        made.kill()


def letters(settings: Settings, value: bytes) -> list[DeadLetter]:
    """The dead letters that hold ``value``."""
    consumer = Consumer({"bootstrap.servers": str(settings.kafka_bootstrap_servers), "group.id": uuid4().hex})
    found: list[DeadLetter] = []
    topic = TopicName.DEAD_LETTERS.value
    for partition in consumer.list_topics(topic).topics[topic].partitions:
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition))
        consumer.assign([TopicPartition(topic, partition, low)])
        for message in consumer.consume(high - low, 10) if high > low else ():
            try:
                letter = decode(DeadLetter, message.value() if isinstance(message.value(), bytes) else None)
            except Undecodable:
                continue
            if letter.value == value:
                found.append(letter)
    consumer.close()
    return found


@pytest.mark.timeout(240)
def test_records_become_rows_and_poison_a_dead_letter(stage: Stage) -> None:
    """Each topic's records are rows once, with their trace; poison between them is kept whole; SIGTERM drains."""
    poison = b"poison of " + stage.crawl.encode()
    for topic in TOPICS:
        stage.produce(stage.samples(topic, range(300)))
    stage.produce([Outbound(TopicName.DOCUMENTS, b"x", poison)])
    stage.produce(stage.samples(TopicName.DOCUMENTS, range(250, 600)))
    stage.start()
    stage.until(lambda: (stage.rows("documents"), stage.rows("fetches"), stage.rows("decisions")) == (600, 300, 300))
    url_id = document(7).url_id
    trace = ask(
        stage.settings,
        f"SELECT trace_id FROM documents WHERE crawl = '{stage.crawl}' AND url_id = '{url_id.hex()}'",
        "TSV",
    )
    assert trace.decode().strip() == trace_of(stage.crawl, url_id, 0).trace_id
    stage.until(stage.caught_up)
    assert stage.stop() == 0
    [letter] = letters(stage.settings, poison)
    assert (letter.reason, letter.topic, letter.key) == ("undecodable", "documents", b"x")
    assert stage.rows("documents") == 600
    assert endpoint.living(stage.settings.data_dir / "clickhouse") is None


@pytest.mark.timeout(240)
def test_a_killed_writer_loses_nothing_and_doubles_nothing(stage: Stage) -> None:
    """Kill -9 again and again in the middle of writing: in the end every record is one row."""
    stage.produce(stage.samples(TopicName.DOCUMENTS, range(3_000)))
    for target in (1, 1_000, 2_000):
        stage.start()
        stage.until(lambda target=target: stage.rows("documents") >= target)  # type: ignore[misc]
        stage.kill()
    stage.produce(stage.samples(TopicName.FETCHES, range(1_000)))
    stage.start()
    stage.until(lambda: (stage.rows("documents"), stage.rows("fetches")) == (3_000, 1_000))
    stage.until(stage.caught_up)
    assert stage.number(f"SELECT uniqExact(url) FROM documents WHERE crawl = '{stage.crawl}'") == 3_000
    assert stage.stop() == 0
    assert (stage.rows("documents"), stage.rows("fetches")) == (3_000, 1_000)


@pytest.mark.timeout(240)
def test_a_replay_from_an_earlier_offset_adds_no_row(stage: Stage) -> None:
    """A group that begins anew writes everything again into the same tables, and every row counts once."""
    for topic in TOPICS:
        stage.produce(stage.samples(topic, range(500)))
    for _ in range(2):
        stage.store = f"test-{uuid4().hex[:12]}"
        stage.begin()
        stage.start()
        stage.until(stage.caught_up)
        assert [stage.rows(table) for table in ("documents", "fetches", "decisions")] == [500, 500, 500]
        assert stage.stop() == 0
