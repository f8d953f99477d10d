"""What the README promises: one command, and then answers."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from product import ODRADEK, crawl, sql

from infra.devstack import demo


@pytest.mark.timeout(300)
def test_the_demo_crawl_finds_every_page(tmp_path: Path) -> None:
    """The demo crawl ends by itself; its rows are exactly the pages that there are and may be fetched."""
    with crawl(tmp_path) as running:
        summary = running.wait(240)
    rows = sql(tmp_path, "SELECT url, title, trace_id FROM documents")
    port = int(rows[0]["url"].split(":")[2].split("/")[0])
    assert sorted(row["url"] for row in rows) == sorted(demo.pages(port))
    assert summary["pages"] == len(rows)
    assert all(row["title"] and len(row["trace_id"]) == 32 for row in rows)
    refused = sql(tmp_path, "SELECT DISTINCT reason FROM decisions")
    assert {"reason": "robots_denied"} in refused
    gone = sql(tmp_path, "SELECT count() AS n FROM fetches WHERE status = 404 AND kind = 'page'")
    assert gone[0]["n"] == len(demo.HOSTS)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["crawl", "example.org"], 2, "did you mean https://"),
        (["crawl", "ftp://example.org/"], 2, "only http and https"),
        (["crawl", "https://example.org/", "--exclude", "("], 2, "no regular expression"),
        (["crawl", "https://example.org/", "--resolve", "x"], 2, "HOST=ADDRESS"),
        (["seed"], 2, "no URL given"),
        (["run", "nothing"], 2, ""),
        (["topics", "create"], 2, "KAFKA_BOOTSTRAP_SERVERS"),
        (["sql", "SELECT 1", "--data-dir", "/nonexistent/odradek"], 2, "no crawl"),
    ],
)
def test_a_mistake_gets_one_clear_line(tmp_path: Path, arguments: list[str], code: int, said: str) -> None:
    """Bad input ends with exit code 2 and a line that says what is wrong; no traceback."""
    done = subprocess.run(
        [*ODRADEK, *arguments], capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path, env=_bare()
    )
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def _bare() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "KAFKA_BOOTSTRAP_SERVERS"}


def test_topics_and_doctor_speak_json(tmp_path: Path) -> None:
    """Scripts get JSON: the topics as the file has them, and what the doctor found."""
    listed = subprocess.run([*ODRADEK, "topics", "list", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(listed.stdout)["urls"]["key"] == "host"
    found = subprocess.run(
        [*ODRADEK, "doctor", "--json"], capture_output=True, text=True, check=False, cwd=tmp_path, env=_bare()
    )
    assert {each["what"] for each in json.loads(found.stdout)} >= {"Python", "Kafka", "disk"}
