"""The archive for whoever is asked for help holds what helps, and no secret."""

import json
import os
import tarfile
from pathlib import Path

import pytest

from infra import support
from infra.settings import load

SECRETS = ("hunter2", "pr0xy-p4ss", "t0ken-of-sixteen-characters", "p%40ss-w0rd", "p@ss-w0rd")


@pytest.fixture(autouse=True)
def _secrets_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("ODRADEK_", "KAFKA_", "CLICKHOUSE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ODRADEK_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("CLICKHOUSE_URL", "https://user:hunter2@clickhouse:8443/crawl")
    monkeypatch.setenv("ODRADEK_KAFKA__CLIENT", '{"client.rack": "crawler"}')
    monkeypatch.setenv("ODRADEK_FETCHERS__PROXIES__TIERS", '[["http://me:pr0xy-p4ss@proxy:1"]]')
    monkeypatch.setenv("ODRADEK_SINKS__STORES", '{"main": {"dsn": "clickhouse://u:p%40ss-w0rd@h/"}}')
    monkeypatch.setenv("ODRADEK_MONITOR__TOKEN", "t0ken-of-sixteen-characters")


def parts(archive: Path) -> dict[str, str]:
    """The content of each file of an archive."""
    with tarfile.open(archive) as opened:
        found = {}
        for entry in opened.getmembers():
            file = opened.extractfile(entry)
            assert file is not None
            found[entry.name.removeprefix("odradek-support/")] = file.read().decode()
        return found


def test_no_secret_stands_anywhere_in_it(tmp_path: Path) -> None:
    """Neither in the settings nor in a log that somebody's library wrote carelessly; names and hosts stay readable."""
    logs = tmp_path / "logs"
    logs.mkdir()
    careless = "\n".join([*(f"login with {secret} failed" for secret in SECRETS), "GET http://a:bcde@f.test/ 200"])
    (logs / "sinks.log").write_text(f"{careless}\n")
    target = tmp_path / "support.tar.gz"
    names = support.write(target, load(), [{"what": "disk", "found": "pr0xy-p4ss"}])
    found = parts(target)
    assert set(names) == set(found) == {"doctor.json", "settings.json", "packages.txt", "logs/sinks.log"}
    everything = "\n".join(found.values())
    assert [secret for secret in (*SECRETS, "bcde") if secret in everything] == []
    assert "login with *** failed" in found["logs/sinks.log"]
    assert "crawler" in found["settings.json"]
    assert "clickhouse:8443" in found["settings.json"]
    assert "pydantic==" in found["packages.txt"]


def test_what_cannot_be_had_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Kafka that does not answer costs its parts alone; the archive is written whole, and only its owner reads it."""
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:9")
    target = tmp_path / "support.tar.gz"
    support.write(target, load(), [])
    found = parts(target)
    assert "cannot be had: UserError: Kafka at 127.0.0.1:9 does not answer" in found["topics.json"]
    assert json.loads(found["doctor.json"]) == []
    assert list(tmp_path.glob("*.part")) == []


def test_a_log_is_cut_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of any size adds a bounded part."""
    monkeypatch.setattr(support, "LOG_BYTES", 100)
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "frontier.log").write_text("begin\n" + "x" * 1_000 + "\nend\n")
    target = tmp_path / "support.tar.gz"
    support.write(target, load(), [])
    assert len(parts(target)["logs/frontier.log"]) == 100
    assert parts(target)["logs/frontier.log"].endswith("\nend\n")
