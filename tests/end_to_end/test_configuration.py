"""Settings of a running crawl: shown with their origin, changed while it runs, refused when they are wrong."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from product import ODRADEK, STAGES, Crawl, crawl
from test_running_crawl import get, ready

GOOD = "[frontier]\nattempts = 2\n"


def metric(data_dir: Path, name: str) -> dict[str, float]:
    """A metric without labels, of each stage."""
    found: dict[str, float] = {}
    for stage, worker in ready(data_dir).items():
        lines = [line for line in get(f"{worker['url']}/metrics").splitlines() if line.startswith(f"{name} ")]
        found.update((stage, float(line.split()[1])) for line in lines)
    return found


def events(data_dir: Path, name: str) -> list[dict[str, Any]]:
    """What every stage wrote of an event."""
    lines = [line for stage in STAGES for line in (data_dir / "logs" / f"{stage}.log").read_text().splitlines()]
    return [each for each in map(json.loads, lines) if each.get("event") == name]


def everywhere(running: Crawl, name: str, value: float) -> None:
    """Return when the metric has this value in all stages."""
    running.wait_until(lambda: metric(running.data_dir, name) == dict.fromkeys(STAGES, value))


@pytest.mark.timeout(300)
def test_a_changed_file_is_applied_everywhere_or_refused_everywhere(tmp_path: Path) -> None:
    """Every stage takes what may change, keeps what it had when the file is broken, says so, and goes on."""
    file = tmp_path / "odradek.toml"
    file.write_text(GOOD)
    environment = {**os.environ, "ODRADEK_CONFIG": str(file)}
    with crawl(tmp_path / "crawl", "--delay", "2", environment=environment) as running:
        running.wait_until(lambda: set(ready(running.data_dir)) == set(STAGES))
        everywhere(running, "odradek_configuration_valid", 1)
        assert events(running.data_dir, "url fetched") == []
        draft = file.with_name("draft")
        draft.write_text(f'log_level = "debug"\n{GOOD}[fetchers]\nconcurrency = 5\n')
        draft.replace(file)
        everywhere(running, "odradek_configuration_applied_total", 1)
        everywhere(running, "odradek_configuration_restart_wanted", 1)
        assert {each["worker"].split("-")[0] for each in events(running.data_dir, "configuration applied")} == set(
            STAGES
        )
        for each in events(running.data_dir, "configuration applied"):
            assert (each["changed"], each["needs_restart"]) == (["log_level"], ["fetchers.concurrency"])
        running.wait_until(lambda: events(running.data_dir, "url fetched") != [])
        file.write_text('[frontier]\nattempts = "many"\n')
        everywhere(running, "odradek_configuration_valid", 0)
        assert "frontier.attempts" in events(running.data_dir, "configuration refused")[0]["error"]
        told = len(events(running.data_dir, "url fetched"))
        running.wait_until(lambda: len(events(running.data_dir, "url fetched")) > told)
        file.write_text(GOOD)
        everywhere(running, "odradek_configuration_valid", 1)
        code, summary = running.interrupt()
    assert code == 130
    assert summary["stages_restarted"] == []


def test_the_command_shows_origins_and_checks_files(tmp_path: Path) -> None:
    """A file and a variable are named as origins; a broken file is told in one line with exit code 2."""
    file = tmp_path / "odradek.toml"
    file.write_text(GOOD)
    environment = {**os.environ, "ODRADEK_CONFIG": str(file), "ODRADEK_LOG_LEVEL": "warning"}

    def ask(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*ODRADEK, "config", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=60)

    shown = {each["name"]: each for each in json.loads(ask("show", "--changed", "--json").stdout)}
    assert shown["frontier.attempts"]["origin"] == f"file {file}"
    assert shown["log_level"]["origin"] == "environment ODRADEK_LOG_LEVEL"
    assert "frontier.delay" not in shown
    assert ask("check").stdout == f"valid: {file}\n"
    file.write_text("[frontier]\natempts = 3\n")
    refused = ask("check")
    assert refused.returncode == 2
    assert "frontier.atempts" in refused.stderr
