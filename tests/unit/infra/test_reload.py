"""Settings that change while a process runs: as a whole, or not at all."""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from infra.errors import UserError
from infra.settings import CONFIG_FILE, FetcherSettings, Settings, read
from infra.settings.files import contents, files
from infra.settings.live import LIVE, Change, change, is_live, leaves
from infra.settings.reload import Refused, Reloading


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that is named, and nothing else is set."""
    for name in [name for name in os.environ if name.startswith(("ODRADEK_", "KAFKA_", "CLICKHOUSE_"))]:
        monkeypatch.delenv(name)
    path = tmp_path / "odradek.toml"
    path.write_text("[frontier]\nattempts = 2\n")
    monkeypatch.setenv(CONFIG_FILE, str(path))
    return path


def running() -> Reloading:
    """A process that has just started."""
    return Reloading(read(), read, contents)


def settled(process: Reloading) -> Change | Refused | None:
    """What a process makes of a file that is written no more: two looks, and a third finds nothing new."""
    assert process.look() is None
    found = process.look()
    assert process.look() is None
    return found


def test_what_may_change_is_applied_and_the_rest_is_named(file: Path) -> None:
    """The delay is taken at once; the concurrency stays what it was until a restart, and is told."""
    process = running()
    file.write_text("[frontier]\nattempts = 2\ndelay = 3\n[fetchers]\nconcurrency = 7\n")
    found = settled(process)
    assert isinstance(found, Change)
    assert (found.applied, found.needs_restart) == (["frontier.delay"], ["fetchers.concurrency"])
    assert process.running.frontier.delay == timedelta(seconds=3)
    assert process.running.frontier.attempts == 2
    assert process.running.fetchers.concurrency == FetcherSettings().concurrency
    file.write_text("[frontier]\nattempts = 3\ndelay = 3\n")
    assert settled(process) == Change(process.running, ["frontier.attempts"], [])


BROKEN: dict[str, Callable[[Path], object]] = {
    "no TOML": lambda file: file.write_text("[frontier\nattempts = 3"),
    "a wrong type": lambda file: file.write_text('[frontier]\nattempts = "many"\n'),
    "out of bounds": lambda file: file.write_text("[frontier]\nattempts = 0\n"),
    "a misspelt name": lambda file: file.write_text("[frontier]\natempts = 3\n"),
    "an unknown group": lambda file: file.write_text("[frontiers]\nattempts = 3\n"),
    "an unknown topic of a sink": lambda file: file.write_text('[sinks.stores.a]\ntopics = ["seeds"]\n'),
    "one good and one bad": lambda file: file.write_text("[frontier]\nattempts = 3\ndelay = -1\n"),
    "no text": lambda file: file.write_bytes(b"\xff\xfe\x00"),
    "gone": lambda file: file.unlink(),
    "a folder": lambda file: file.rename(file.with_name("moved")) and file.mkdir(),  # type: ignore[func-returns-value]
}


@pytest.mark.parametrize("breaks", BROKEN.values(), ids=BROKEN)
def test_what_is_broken_is_refused_and_the_old_stays(file: Path, breaks: Callable[[Path], object]) -> None:
    """Nothing of it is taken, the reason is told once, and the next good file is taken again."""
    process = running()
    before = process.running
    breaks(file)
    found = settled(process)
    assert isinstance(found, Refused)
    assert found.error
    assert process.running is before
    if file.is_dir():
        file.rmdir()
    file.write_text("[frontier]\nattempts = 4\n")
    assert isinstance(settled(process), Change)
    assert process.running.frontier.attempts == 4


def test_a_file_that_is_written_in_pieces_waits(file: Path) -> None:
    """As long as each look finds something else nothing is judged; the whole file is."""
    process = running()
    text = "[frontier]\nattempts = 10\ndelay = 5\n"
    for length in range(8, len(text)):
        file.write_text(text[:length])
        assert process.look() is None
    file.write_text(text)
    found = settled(process)
    assert isinstance(found, Change)
    assert sorted(found.applied) == ["frontier.attempts", "frontier.delay"]


def test_a_file_that_is_as_it_was_changes_nothing(file: Path) -> None:
    """Touched, written again with the same content, or changed and changed back between two looks."""
    process = running()
    file.touch()
    file.write_text(file.read_text())
    assert process.look() is None
    file.write_text("[frontier]\nattempts = 9\n")
    assert process.look() is None
    file.write_text("[frontier]\nattempts = 2\n")
    assert process.look() is None
    assert process.look() is None


def test_links_are_swapped_as_kubernetes_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ConfigMap's files are links through ``..data``, which is renamed over: the folder's new content is taken."""
    mounted = tmp_path / "mounted"
    mounted.mkdir()

    def publish(version: str, attempts: int) -> None:
        folder = mounted / version
        folder.mkdir()
        (folder / "prod.toml").write_text(f"[frontier]\nattempts = {attempts}\n")
        (mounted / "..data_tmp").symlink_to(version)
        (mounted / "..data_tmp").rename(mounted / "..data")

    publish("..2026_1", 5)
    (mounted / "prod.toml").symlink_to("..data/prod.toml")
    monkeypatch.setenv(CONFIG_FILE, str(mounted))
    monkeypatch.setenv("ODRADEK_ENVIRONMENT", "prod")
    process = running()
    assert process.running.frontier.attempts == 5
    publish("..2026_2", 6)
    assert isinstance(settled(process), Change)
    assert process.running.frontier.attempts == 6


def test_a_folder_holds_a_base_and_a_file_for_each_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's file goes over the base, key by key; without a name it is dev; one that is missing is told."""
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "base.toml").write_text('log_level = "warning"\n[frontier]\nattempts = 5\ndelay = 2\n')
    (folder / "dev.toml").write_text("[frontier]\ndelay = 0\n")
    (folder / "prod.toml").write_text("[frontier]\ndelay = 9\n")
    monkeypatch.setenv(CONFIG_FILE, str(folder))
    assert [path.name for path in files()] == ["base.toml", "dev.toml"]
    found = read()
    assert (found.log_level, found.frontier.attempts, found.frontier.delay) == ("warning", 5, timedelta(0))
    monkeypatch.setenv("ODRADEK_ENVIRONMENT", "prod")
    assert read().frontier.delay == timedelta(seconds=9)
    monkeypatch.setenv("ODRADEK_ENVIRONMENT", "staging")
    with pytest.raises(UserError, match=r"no staging\.toml; ODRADEK_ENVIRONMENT may be: dev, prod"):
        read()


def test_the_environment_stays_stronger_than_a_changed_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a variable says is in force whatever the file says later."""
    monkeypatch.setenv("ODRADEK_FRONTIER__ATTEMPTS", "7")
    process = running()
    file.write_text("[frontier]\nattempts = 9\n")
    assert settled(process) == Change(process.running, [], [])
    assert process.running.frontier.attempts == 7


def test_what_is_live_exists() -> None:
    """Every name in the table is a setting, and connections, files and secrets are not among them."""
    places = {place[:2] for place, _ in leaves(Settings())}
    for group, names in LIVE.items():
        for name in names:
            assert ((group, name) if group else (name,)) in places
    assert not is_live(("kafka", "client"))
    assert not is_live(("monitor", "token"))
    assert change(Settings(), Settings()).applied == []


@pytest.mark.parametrize("environment", ["dev", "test", "prod"])
def test_the_examples_are_valid(environment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that the documentation shows can be started with."""
    monkeypatch.setenv(CONFIG_FILE, str(Path(__file__).resolve().parents[3] / "docs" / "configuration"))
    monkeypatch.setenv("ODRADEK_ENVIRONMENT", environment)
    assert read().identity.contact
