"""Stages as an orchestrator runs them: any number of each, each a process with a disk of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from infra.cli.crawl import define
from infra.cli.seed import send_seeds
from infra.devstack.kafka import EmbeddedKafka
from infra.errors import RetryLater
from infra.kafka.admin import Topics
from infra.kafka.heartbeats import Heartbeats
from infra.kafka.lag import SINK_GROUP, LagReader, groups
from infra.progress import Completion
from infra.settings import KafkaSettings, Settings
from schemas.records import Crawl

STOP_WITHIN_S = 35


@dataclass
class Member:
    """One process."""

    stage: str
    disk: Path
    process: "subprocess.Popen[bytes]"

    @property
    def lives(self) -> bool:
        """Whether it runs."""
        return self.process.poll() is None

    def kill(self) -> None:
        """``kill -9``."""
        self.process.kill()
        self.process.wait()

    def terminate(self) -> None:
        """SIGTERM: it drains."""
        self.process.send_signal(signal.SIGTERM)

    def drained(self) -> None:
        """It has to end well, within 30 s; one that had not begun yet ends at once."""
        assert self.process.wait(STOP_WITHIN_S) in (0, -signal.SIGTERM), (self.disk / "log").read_text()[-3_000:]


class Members:
    """The processes on one broker."""

    def __init__(self, directory: Path, settings: Settings) -> None:
        self.settings = settings
        self._directory = directory
        self._members: list[Member] = []

    def add(self, stage: str, disk: Path | None = None) -> Member:
        """Start one more, with an empty disk unless it gets one that another left."""
        disk = disk or self._directory / f"{stage}-{len(self._members)}"
        disk.mkdir(exist_ok=True)
        environment = {
            **os.environ,
            "KAFKA_BOOTSTRAP_SERVERS": self.settings.kafka_bootstrap_servers or "",
            "ODRADEK_DATA_DIR": str(disk),
            "ODRADEK_LOG_FORMAT": "json",
            "ODRADEK_FETCHERS__RESOLVE": json.dumps({"*.test": "127.0.0.1"}),
            "ODRADEK_FETCHERS__ALLOW_NETWORKS": json.dumps(["127.0.0.0/8"]),
        }
        with (disk / "log").open("ab") as log:
            command = [sys.executable, "-m", "infra.cli", "run", stage, "--health-port", "0"]
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        member = Member(stage, disk, process)
        self._members.append(member)
        return member

    def of(self, stage: str) -> list[Member]:
        """Those of a stage that run."""
        return [member for member in self._members if member.stage == stage and member.lives]

    def stop(self) -> None:
        """Drain what runs."""
        running = [member for member in self._members if member.lives]
        for member in running:
            member.terminate()
        for member in running:
            member.drained()

    def close(self) -> None:
        """Leave nothing running."""
        for member in self._members:
            member.kill()

    def crawl(self, crawl: Crawl, seeds: list[str]) -> None:
        """Define a crawl and hand its seeds over."""
        define(self.settings, crawl)
        send_seeds(self.settings, seeds, crawl.name)

    def wait_until_finished(self, crawl: str, timeout_s: float) -> None:
        """Return when nothing of the crawl is left anywhere."""
        heartbeats, lag = Heartbeats(self.settings), LagReader(self.settings)
        completion = Completion(crawl, [group for group in groups(self.settings) if group.startswith(SINK_GROUP)])
        deadline_s = time.monotonic() + timeout_s
        while True:
            assert time.monotonic() < deadline_s, f"not finished in time: {completion.phase.name} is still to see"
            beats = heartbeats.read(timedelta(milliseconds=500))
            try:
                if completion.observe(beats, lag.read()):
                    break
            except RetryLater:
                continue
        heartbeats.close()


@contextmanager
def members(directory: Path, partitions: int = 8) -> Iterator[Members]:
    """A broker with every topic, and nobody on it yet."""
    with EmbeddedKafka(directory / "broker") as broker:
        settings = Settings(
            data_dir=directory,
            kafka=KafkaSettings(partitions=partitions),
            kafka_bootstrap_servers=broker.bootstrap_servers,
        )
        Topics(settings).create()
        running = Members(directory, settings)
        try:
            yield running
        finally:
            running.close()
