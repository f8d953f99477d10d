"""Kafka is away: the monitor lives, tells what it saw last and how old that is, and goes on when Kafka is back."""

import os
import signal
from pathlib import Path

import pytest

from infra.devstack.kafka import EmbeddedKafka
from infra.kafka.admin import Topics
from infra.settings import KafkaSettings, Settings
from tests.integration.monitor_scene import STAGES, monitored

OLD_S = 8.0


@pytest.mark.timeout(240)
def test_an_outage_is_told_by_the_age_of_what_is_shown(tmp_path: Path) -> None:
    """The overview answers all the while with what was seen; it becomes old, and new again, in the same process."""
    with EmbeddedKafka(tmp_path / "kafka") as broker:
        settings = Settings(kafka_bootstrap_servers=broker.bootstrap_servers, kafka=KafkaSettings(partitions=1))
        Topics(settings).create()
        with monitored(settings, tmp_path / "data") as scene:
            stages = dict.fromkeys(STAGES, 1)
            scene.until("/api/overview", lambda answer: answer["stages"] == stages)
            # Nobody else can send a sign of life either.
            scene.silent = set(STAGES)
            os.kill(broker.pid, signal.SIGSTOP)
            try:
                seen = scene.until("/api/overview", lambda answer: answer["age_s"] > OLD_S)
                assert seen["history"]
                assert scene.ask("/api/documents")[0] == 503
            finally:
                os.kill(broker.pid, signal.SIGCONT)
            scene.silent = set()
            scene.until("/api/overview", lambda answer: answer["age_s"] < OLD_S / 2 and answer["stages"] == stages)
