"""One settings tree, and errors that say what to do."""

from pathlib import Path

import pytest

from infra.errors import UserError
from infra.settings import CONFIG_FILE, load


def test_defaults_are_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any configuration the settings work on one machine."""
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    settings = load()
    assert settings.kafka_bootstrap_servers is None
    assert settings.kafka.partitions >= 1


def test_the_stronger_source_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A flag beats the environment, the environment beats the file, the file beats the default."""
    file = tmp_path / "odradek.toml"
    file.write_text('log_level = "error"\nhealth_port = 1\n[kafka]\npartitions = 3\nqueue_mib = 7\n')
    monkeypatch.setenv(CONFIG_FILE, str(file))
    monkeypatch.setenv("ODRADEK_KAFKA__PARTITIONS", "5")
    monkeypatch.setenv("ODRADEK_HEALTH_PORT", "2")
    settings = load(health_port=3)
    assert (settings.health_port, settings.kafka.partitions, settings.kafka.queue_mib) == (3, 5, 7)
    assert settings.log_level == "error"


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("ODRADEK_KAFKA__PARTITIONS", "none", "kafka.partitions"),
        ("ODRADEK_KAFKA__PARTITIONS", "0", "greater than or equal to 1"),
        ("ODRADEK_KAFKA__PARTITONS", "3", "kafka.partitons"),
        ("ODRADEK_LOG_LEVEL", "loud", "log_level"),
    ],
)
def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, value: str, said: str) -> None:
    """A wrong or misspelt setting is refused, by its name and with what it should be."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(UserError, match=said.replace(".", r"\.")):
        load()


def test_a_file_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A configuration file that does not exist or cannot be parsed is an error, not a default."""
    monkeypatch.setenv(CONFIG_FILE, str(tmp_path / "missing.toml"))
    with pytest.raises(UserError, match=r"missing\.toml"):
        load()
    broken = tmp_path / "broken.toml"
    broken.write_text("[kafka\n")
    monkeypatch.setenv(CONFIG_FILE, str(broken))
    with pytest.raises(UserError):
        load()


def test_the_password_of_a_dsn_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Printing the settings shows no secret."""
    monkeypatch.setenv("CLICKHOUSE_URL", "http://user:hidden@h.test/")
    assert "hidden" not in repr(load())
