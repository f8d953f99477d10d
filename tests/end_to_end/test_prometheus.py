"""A real Prometheus beside a running crawl: it finds every worker by itself, and no dashboard is blank."""

import json
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
import yaml
from product import STAGES, Crawl, crawl

from infra.devstack.local import attach
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from monitor.prometheus.panels import DASHBOARDS

RULES = Path(__file__).resolve().parents[2] / "monitor" / "prometheus" / "rules.yml"
DOWN = {"clickhouse": {}, "down": {"dsn": "clickhouse://127.0.0.1:9/none"}}
"""Two stores, of which one is never there: what happens then has series too."""


class Prometheus:
    """A running server."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/api/v1"

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series that an expression has now."""
        return list(self._get("query", query=expression)["result"])

    def targets(self) -> dict[str, str]:
        """The health of each target's scrapes, by job."""
        return {each["labels"]["job"]: each["health"] for each in self._get("targets")["activeTargets"]}

    def _get(self, path: str, **query: str) -> dict[str, Any]:
        with urlopen(f"{self._url}/{path}?{urlencode(query)}", timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)["data"]
            return found


@contextmanager
def prometheus(directory: Path, targets_url: str) -> Iterator[Prometheus]:
    """A server that asks the monitor for its targets, with the rules of the product. Skips where there is none."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("the dashboards are tried on a real server: apt-get install prometheus")
    directory.mkdir()
    shutil.copy(RULES, directory)
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [RULES.name],
        "scrape_configs": [
            {"job_name": "odradek", "http_sd_configs": [{"url": targets_url, "refresh_interval": "1s"}]}
        ],
    }
    (directory / "prometheus.yml").write_text(yaml.safe_dump(config))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = [f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data"]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            [program, *arguments, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log
        )
    try:
        yield Prometheus(port)
    finally:
        process.terminate()
        process.wait(30)


def names(expressions: list[str]) -> set[str]:
    """The series of ours that they name, recorded ones too."""
    return {name for each in expressions for name in re.findall(r"\bodradek[_:][a-z0-9_:]+", each)}


def monitor_url(data_dir: Path) -> str:
    """Where the monitor of a crawl is."""
    return (data_dir / "monitor.endpoint").read_text().partition("/#")[0]


def plant_a_bad_seed(running: Crawl) -> None:
    """A record that becomes a dead letter."""
    settings = attach(Settings(data_dir=running.data_dir))
    bad = Outbound(TopicName.SEEDS, b"x", b"\xff\xfe\x00")
    assert Producer(settings, "test-bad-seed").send_all([bad], timedelta(seconds=30)) == []


@pytest.mark.timeout(300)
def test_every_expression_of_every_dashboard_returns_series(tmp_path: Path) -> None:
    """All workers are found and scraped, each panel shows something, and every series that a rule names exists."""
    environment = {**os.environ, "ODRADEK_SINKS__STORES": json.dumps(DOWN)}
    with crawl(tmp_path / "crawl", "--delay", "1", environment=environment) as running:
        running.wait_until((running.data_dir / "monitor.endpoint").is_file)
        plant_a_bad_seed(running)
        with prometheus(tmp_path / "prometheus", f"{monitor_url(running.data_dir)}/api/targets") as server:

            def all_found() -> bool:
                try:
                    found = server.targets()
                except OSError:
                    return False
                return set(found) == set(STAGES) and set(found.values()) == {"up"}

            running.wait_until(all_found)
            expressions = [
                expression.replace("$__rate_interval", "1m")
                for dashboard in DASHBOARDS
                for panel in dashboard.panels
                for expression, _ in panel.series
            ]
            rules = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
            wanted = [*expressions, *names([rule["expr"] for rule in rules])]
            blank: list[str] = wanted

            def all_return() -> bool:
                nonlocal blank
                blank = [each for each in blank if not server.query(each)]
                return not blank

            deadline = time.monotonic() + 90
            while not all_return():
                assert time.monotonic() < deadline, blank
                time.sleep(1)
            assert len(expressions) > 40
            # What is wrong here is told by the rules as well.
            assert {each["metric"]["reason"] for each in server.query('ALERTS{alertname="DeadLetters"}')} == {
                "bad_text"
            }
        code, _ = running.interrupt()
    assert code == 130
