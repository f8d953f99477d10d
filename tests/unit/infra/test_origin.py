"""Where each setting comes from, and that no secret is shown."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from infra.settings import CONFIG_FILE, load
from infra.settings.origin import MASK, Shown, shown

SECRETS = ("hunter2", "s3cr3t", "pr0xy", "t0ken-of-sixteen-characters")


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("ODRADEK_", "KAFKA_", "CLICKHOUSE_"))]:
        monkeypatch.delenv(name)


def by_name() -> dict[str, Shown]:
    """The settings in force, by name."""
    return {each.name: each for each in shown(load())}


def test_each_source_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Default, file, environment and flag, the strongest where several say something."""
    file = tmp_path / "odradek.toml"
    file.write_text('log_level = "debug"\n[frontier]\ndelay = 3\nattempts = 4\n')
    monkeypatch.setenv(CONFIG_FILE, str(file))
    monkeypatch.setenv("ODRADEK_FRONTIER__ATTEMPTS", "5")
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "broker:9092")
    found = {each.name: each for each in shown(load(health_port=8080))}
    assert found["health_port"][1:] == ("8080", "flag")
    assert found["log_level"][1:] == ("debug", f"file {file}")
    assert found["frontier.delay"][1:] == ("PT3S", f"file {file}")
    assert found["frontier.attempts"][1:] == ("5", "environment ODRADEK_FRONTIER__ATTEMPTS")
    assert found["kafka_bootstrap_servers"][1:] == ("broker:9092", "environment KAFKA_BOOTSTRAP_SERVERS")
    assert found["frontier.max_hops"][1:] == ("10", "default")


def test_every_setting_is_shown_by_default() -> None:
    """Each leaf of the tree has a line, and with nothing set all of them are defaults."""
    found = by_name()
    assert {"data_dir", "monitor.token", "frontier.delay", "sinks.stores"} <= set(found)
    assert {each.origin for each in found.values()} == {"default"}
    assert found["monitor.gone_after"].value == "PT1M30S"
    assert timedelta(seconds=90) == load().monitor.gone_after


def test_no_secret_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords in URLs, in librdkafka's settings, of proxies and stores, and the token, are masked; names are not."""
    monkeypatch.setenv("CLICKHOUSE_URL", "https://user:hunter2@clickhouse:8443/crawl?password=hunter2")
    monkeypatch.setenv("ODRADEK_KAFKA__CLIENT", '{"sasl.username": "crawler", "sasl.password": "s3cr3t"}')
    monkeypatch.setenv("ODRADEK_FETCHERS__PROXIES__TIERS", '[["http://me:pr0xy@proxy:1"]]')
    monkeypatch.setenv("ODRADEK_SINKS__STORES", '{"main": {"dsn": "clickhouse://u:hunter2@h/"}}')
    monkeypatch.setenv("ODRADEK_MONITOR__TOKEN", "t0ken-of-sixteen-characters")
    found = by_name()
    everything = repr(found)
    assert [secret for secret in SECRETS if secret in everything] == []
    assert "crawler" in found["kafka.client"].value
    assert found["monitor.token"].value == MASK
    assert "clickhouse:8443" in found["clickhouse_url"].value
    assert found["identity.robots_token"].value == "odradek"
