"""What a second terminal sees while a crawl runs."""

import getpass
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from product import ODRADEK, STAGES, Crawl, crawl, explain, sql


def status(data_dir: Path) -> dict[str, Any]:
    """What ``odradek status`` says."""
    environment = {**os.environ, "ODRADEK_DATA_DIR": str(data_dir)}
    done = subprocess.run([*ODRADEK, "status", "--json"], capture_output=True, text=True, check=False, env=environment)
    found: dict[str, Any] = json.loads(done.stdout or "{}")
    return found


def ready(data_dir: Path) -> dict[str, dict[str, Any]]:
    """The workers that take work, by stage."""
    return {each["stage"]: each for each in status(data_dir).get("workers", []) if each["ready"]}


def get(url: str) -> str:
    """The body of a page that answers 200."""
    with urlopen(url, timeout=10) as response:
        return str(response.read().decode())


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Crawl]:
    """A crawl of the demo site, slow enough to be looked at, that writes all that happens."""
    with crawl(tmp_path, "--delay", "1", environment={"ODRADEK_LOG_LEVEL": "debug"}) as it:
        it.wait_until(lambda: (tmp_path / "kafka.endpoint").is_file() and set(ready(tmp_path)) == set(STAGES))
        yield it


@pytest.mark.timeout(200)
def test_a_running_crawl_can_be_watched_and_asked(running: Crawl) -> None:
    """Status, health, metrics, SQL and new seeds work beside a running crawl; a second crawl is refused; it drains."""
    data_dir = running.data_dir
    workers = ready(data_dir)
    for worker in workers.values():
        assert get(f"{worker['url']}/livez") == "alive\n"
        assert get(f"{worker['url']}/readyz") == "ready\n"
        assert "odradek_ready 1.0" in get(f"{worker['url']}/metrics")
    assert sorted(workers["frontier"]["partitions"]) == list(range(4))
    running.wait_until(lambda: sql(data_dir, "SELECT count() AS n FROM documents")[0]["n"] > 0)
    second = subprocess.run(
        [*ODRADEK, "crawl", "--data-dir", str(data_dir)], capture_output=True, text=True, check=False, timeout=60
    )
    assert second.returncode == 2
    assert "another crawl runs" in second.stderr
    environment = {**os.environ, "ODRADEK_DATA_DIR": str(data_dir)}
    seeded = subprocess.run(
        [*ODRADEK, "seed", "http://127.0.0.1:81/"], capture_output=True, text=True, check=False, env=environment
    )
    assert seeded.stdout == "1 seed for crawl default\n"
    running.wait_until(lambda: _outcomes(data_dir, "default") != set())
    code, summary = running.interrupt()
    assert code == 130
    assert summary["stages_not_drained"] == []


def _outcomes(data_dir: Path, crawl_name: str) -> set[str]:
    return {row["outcome"] for row in sql(data_dir, f"SELECT outcome FROM fetches WHERE crawl = '{crawl_name}'")}


def control(data_dir: Path, *arguments: str) -> str:
    """What ``odradek control`` says, once it has succeeded."""
    environment = {**os.environ, "ODRADEK_DATA_DIR": str(data_dir)}
    command = [*ODRADEK, "control", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.timeout(200)
def test_a_running_crawl_is_steered(running: Crawl) -> None:
    """Paused, nothing more is asked for; listed with a version; resumed, it goes on; stopped, it finishes by itself."""
    data_dir = running.data_dir
    running.wait_until(lambda: sql(data_dir, "SELECT count() AS n FROM documents")[0]["n"] > 3)
    [name] = {row["crawl"] for row in sql(data_dir, "SELECT DISTINCT crawl FROM documents")}
    control(data_dir, "pause", f"crawl:{name}", "--reason", "lunch")

    def figures() -> dict[str, int]:
        counts: dict[str, int] = ready(data_dir)["frontier"]["counts"]
        return {what: counts.get(f"crawl/{name}/{what}", 0) for what in ("released", "leased", "queued", "refused")}

    running.wait_until(lambda: figures()["leased"] == 0)
    released = figures()["released"]
    [order] = json.loads(control(data_dir, "list", "--json"))
    assert (order["action"], order["target"], order["reason"]) == ("pause", name, "lunch")
    assert figures()["queued"] > 0
    assert figures()["released"] == released
    unseen = "SELECT DISTINCT arrayJoin(links) AS url FROM documents WHERE url NOT IN (SELECT url FROM fetches)"
    states = [explain(data_dir, row["url"])["frontier"][0] for row in sql(data_dir, f"{unseen} LIMIT 3")]
    assert any(state.endswith("an operator paused its crawl or its host") for state in states), states
    control(data_dir, "resume", f"crawl:{name}")
    running.wait_until(lambda: figures()["released"] > released)
    assert json.loads(control(data_dir, "list", "--json")) == []
    control(data_dir, "stop", f"crawl:{name}")
    summary = running.wait(120)
    assert summary["finished"]
    assert summary["stages_not_drained"] == []
    [page] = sql(data_dir, "SELECT url FROM documents ORDER BY depth DESC LIMIT 1")
    told = explain(data_dir, page["url"])
    assert told["frontier-state"] == ["ended: fetched"]
    assert told["control"] == [f"stop crawl:{name} by {getpass.getuser()}"]
    assert [text.split(" after ")[0] for text in told["fetches"]] == ["ok 200"]
    assert len(told["documents"]) == 1
    # Which of the two is written first is nobody's promise.
    assert {text.split(":")[0] for text in told["clickhouse"]} == {"row in fetches", "row in documents"}


@pytest.mark.timeout(200)
def test_a_trace_leads_from_the_seed_to_the_row(running: Crawl) -> None:
    """The trace id of a row is that of its seed, its release, its fetch and its cleaning, in the logs of the stages."""
    data_dir = running.data_dir
    running.wait_until(lambda: sql(data_dir, "SELECT count() AS n FROM documents WHERE depth = 0")[0]["n"] > 0)
    [row] = sql(data_dir, "SELECT url, trace_id FROM documents WHERE depth = 0")
    told = {
        line["event"]
        for stage in ("streams", "frontier", "fetchers")
        for line in map(json.loads, (data_dir / "logs" / f"{stage}.log").read_text().splitlines())
        if line.get("trace_id") == row["trace_id"] and line.get("url") == row["url"] and line.get("span_id")
    }
    assert told >= {"seed accepted", "url released", "url fetched", "page cleaned"}
