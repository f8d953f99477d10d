"""The sinks in a process of their own, fed from a real Kafka, with the stores that a file names."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from confluent_kafka import Consumer, TopicPartition

from infra.kafka.clients import consumer_config
from infra.kafka.lag import LagReader
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.telemetry.tracing import trace_of
from schemas.wire import encode
from sinks.stores import group
from tests.unit.sinks.sink_samples import MAKERS

ROOT = Path(__file__).resolve().parents[2]
TOPICS = (TopicName.DOCUMENTS, TopicName.FETCHES, TopicName.EVENTS)
WAIT_S = 90.0


class SinksProcess:
    """Stores have names that nobody else uses; each begins where the topics ended before the test."""

    def __init__(self, settings: Settings, data_dir: Path) -> None:
        self.settings = settings.model_copy(update={"data_dir": data_dir})
        self.mark = uuid4().hex[:12]
        self.crawl = f"crawl-{self.mark}"
        self.file = data_dir / "stores.toml"
        self.log = data_dir / "sinks.log"
        self.process: subprocess.Popen[bytes] | None = None
        self._ends = LagReader(settings, {"odradek-none": TOPICS}).read().ends

    def name(self, store: str) -> str:
        """The store's name in the settings."""
        return f"{store}-{self.mark}"

    def begin(self, store: str) -> None:
        """Let the store's group start where the topics ended: what others left there is not its work."""
        consumer = Consumer(consumer_config(self.settings, "test", group(self.name(store))))
        offsets = [TopicPartition(topic, number, end) for (topic, number), end in self._ends.items()]
        consumer.commit(offsets=offsets, asynchronous=False)
        consumer.close()

    def want(self, dsns: Mapping[str, str]) -> None:
        """Write the file of stores, as a careful program would."""
        breaker = "breaker = {failures = 3, first_wait = 0.5, longest_wait = 1}"
        tables = (
            f"[{self.name(store)}]\ndsn = {json.dumps(dsn)}\nmax_records = 200\nlinger = 0.2\n{breaker}\n"
            for store, dsn in dsns.items()
        )
        new = self.file.with_suffix(".new")
        new.write_text("\n".join(tables))
        new.replace(self.file)

    def start(self) -> None:
        """Start it; the file is there."""
        environment = os.environ | {
            "KAFKA_BOOTSTRAP_SERVERS": str(self.settings.kafka_bootstrap_servers),
            "ODRADEK_DATA_DIR": str(self.settings.data_dir),
            "ODRADEK_SINKS__STORES": "{}",
            "ODRADEK_SINKS__FILE": str(self.file),
            "ODRADEK_LOG_FORMAT": "json",
        }
        environment.pop("CLICKHOUSE_URL", None)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "infra.cli", "run", "sinks"], env=environment, cwd=ROOT, stdout=log, stderr=log
            )

    def kill(self) -> None:
        """End the process as a power cut would."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(40)

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until ``holds``; fails with the log when it never does."""
        deadline = time.monotonic() + WAIT_S
        while not holds():
            assert time.monotonic() < deadline, self.log.read_text()[-6_000:]
            assert self.process is None or self.process.poll() is None, self.log.read_text()[-6_000:]
            time.sleep(0.2)

    def said(self, event: str, store: str) -> int:
        """How often the log tells the event of the store."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return sum(line.get("event") == event and line.get("store") == self.name(store) for line in lines)

    def lag(self, store: str) -> int:
        """Records that the store has still to take."""
        name = group(self.name(store))
        return sum(LagReader(self.settings, {name: TOPICS}).read().lag(name).values())

    def caught_up(self, stores: Sequence[str]) -> bool:
        """Whether every one of the stores has taken everything."""
        return not any(self.lag(store) for store in stores)

    def produce(self, topic: TopicName, numbers: range) -> None:
        """Records of this test's crawl, with a trace."""
        made = [MAKERS[topic](number, self.crawl) for number in numbers]
        records = [
            Outbound(topic, each.host.encode(), encode(each), [trace_of(each.crawl, each.url_id, 0).header()])
            for each in made
        ]
        assert Producer(self.settings, "test").send_all(records, timedelta(seconds=30)) == []
