"""Which stores are wanted while that changes, and how far several of them are."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.errors import UserError
from infra.kafka.lag import groups
from infra.settings import Settings, SinkSettings
from infra.settings.sinks import StoreSettings
from infra.settings.stores import stores
from infra.stage import Progress
from sinks.rounds import Rounds
from sinks.wanted import Wanted

ONE = '[one]\ndsn = "memory:"\n'
TWO = '[two]\ndsn = "sqlite:"\ntopics = ["fetches"]\nlinger = 5\n'


class File:
    """A file of stores, and who follows it."""

    def __init__(self, path: Path, content: str) -> None:
        self.path = path
        path.write_text(content)
        self.settings = Settings(sinks=SinkSettings(stores={"fixed": StoreSettings(dsn="memory:")}, file=path))
        self.wanted = Wanted(self.settings)

    def looks(self, times: int = 3) -> list[list[str] | str]:
        """What each look finds, where it finds something."""
        found: list[list[str] | str] = []
        for _ in range(times):
            try:
                seen = self.wanted.look()
            except UserError as error:
                found.append(str(error))
            else:
                found += [] if seen is None else [sorted(seen)]
        return found


@pytest.fixture
def file(tmp_path: Path) -> File:
    """With one store beside the one of the settings."""
    return File(tmp_path / "stores.toml", ONE)


def test_the_file_adds_to_the_settings(file: File) -> None:
    """Every group that is read by a store is known to whoever asks for lags; nothing happens until a change."""
    assert sorted(file.wanted.stores) == ["fixed", "one"]
    assert {"odradek-sink-fixed", "odradek-sink-one"} <= set(groups(file.settings))
    assert file.looks() == []


def test_stores_are_added_changed_and_removed(file: File) -> None:
    """A change is told once, with all stores that are wanted from then on."""
    file.path.write_text(ONE + TWO)
    assert file.looks() == [["fixed", "one", "two"]]
    assert file.wanted.stores["two"].topics == ("fetches",)
    file.path.write_text(ONE + TWO.replace("5", "6"))
    assert file.looks() == [["fixed", "one", "two"]]
    file.path.write_text("")
    assert file.looks() == [["fixed"]]


def test_a_change_counts_when_it_was_seen_twice(file: File) -> None:
    """A file that is being written, a line at a time, is not followed in the middle."""
    lines = (ONE + TWO + ONE.replace("one", "three")).splitlines(keepends=True)
    for end in range(len(lines) + 1):
        file.path.write_text("".join(lines[:end]))
        assert file.looks(1) == []
    assert file.looks(1) == [["fixed", "one", "three", "two"]]


def test_a_comment_changes_no_store(file: File) -> None:
    """Only what it means counts."""
    file.path.write_text("# mine\n" + ONE)
    assert file.looks() == []


BROKEN = [
    ONE + "[two",
    ONE + TWO + "[two]\n",
    "one = 1\n",
    ONE + '[two]\ndsn = "no-such-kind://me:s3cret@h"\n',
    ONE + '[two]\ndns = "memory:"\n',
    ONE + '[two]\ndsn = "memory:"\nmax_records = 0\n',
    ONE + '["a/b"]\ndsn = "memory:"\n',
    ONE + '[two]\ndsn = "postgresql://me:s3cret@h/db?nonsense=1"\n',
    ONE + '[two]\ndsn = "memory:"\ntopics = ["pages?"]\n',
]


@pytest.mark.parametrize("content", BROKEN)
def test_what_is_broken_is_refused_and_the_old_stays(file: File, content: str) -> None:
    """The reason is told once and without a secret; nothing changes, until the file is mended."""
    file.path.write_text(content)
    [told] = file.looks()
    assert isinstance(told, str)
    assert "s3cret" not in told
    assert sorted(file.wanted.stores) == ["fixed", "one"]
    file.path.write_text(TWO)
    assert file.looks() == [["fixed", "two"]]


@pytest.mark.parametrize("content", BROKEN)
def test_what_is_broken_at_the_start_ends_the_start(tmp_path: Path, content: str) -> None:
    """There is no old one that could stay."""
    with pytest.raises(UserError):
        File(tmp_path / "stores.toml", content)


def test_bytes_that_are_no_text_are_refused(file: File) -> None:
    """As any other broken file."""
    file.path.write_bytes(b"\xff\xfe")
    assert file.looks() == [f"{file.path} is no TOML: it is no UTF-8"]


def test_a_file_that_is_gone_changes_nothing(file: File) -> None:
    """It is told once; a file that comes back as it was is no change."""
    file.path.rename(file.path.with_suffix(".away"))
    [told] = file.looks()
    assert "cannot be read" in told
    assert sorted(file.wanted.stores) == ["fixed", "one"]
    file.path.with_suffix(".away").rename(file.path)
    assert file.looks() == []


def test_a_link_that_is_turned_is_followed(tmp_path: Path) -> None:
    """Kubernetes changes a mounted file by turning the link of its folder."""
    for name, content in (("a", ONE), ("b", TWO)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "stores.toml").write_text(content)
    (tmp_path / "data").symlink_to("a")
    settings = Settings(sinks=SinkSettings(stores={}, file=tmp_path / "data" / "stores.toml"))
    wanted = Wanted(settings)
    (tmp_path / "new").symlink_to("b")
    os.replace(tmp_path / "new", tmp_path / "data")  # noqa: PTH105  # as the kubelet does
    assert [wanted.look(), wanted.look()] == [None, stores(settings.sinks)]
    assert list(wanted.stores) == ["two"]


def test_without_any_store_there_is_nothing_to_do() -> None:
    """Unless a file may bring some later."""
    with pytest.raises(UserError, match=r"sinks\.file"):
        Wanted(Settings(sinks=SinkSettings(stores={})))


def test_a_silent_store_is_not_hidden_by_a_busy_one() -> None:
    """The progress of all stands still when that of one does which has work."""
    rounds = Rounds()

    def look(busy: int, silent: int, waits: bool) -> Progress:
        return rounds.look({"busy": Progress(busy, True), "silent": Progress(silent, waits)})

    first = look(1, 7, True)
    assert [look(number, 7, True) for number in range(2, 100)] == [first] * 98
    second = look(100, 8, True)
    assert second.finished > first.finished
    assert look(101, 8, False).finished > second.finished


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.tuples(st.integers(0, 3), st.booleans()))))
def test_progress_of_all_moves_when_every_store_that_waits_has_moved(
    history: list[dict[str, tuple[int, bool]]],
) -> None:
    """Whatever stores come and go: two looks with progress of each between them differ."""
    rounds = Rounds()
    done = dict.fromkeys("abc", 0)
    for step in history:
        for name, (more, _) in step.items():
            done[name] += more
        rounds.look({name: Progress(done[name], waits) for name, (_, waits) in step.items()})
    before = rounds.look({name: Progress(count, True) for name, count in done.items()})
    after = rounds.look({name: Progress(count + 1, True) for name, count in done.items()})
    assert after.finished > before.finished
    assert after.waiting
