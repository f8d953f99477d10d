"""Rules that change while they are in use."""

from pathlib import Path

import pytest

from infra.errors import UserError
from streams.rules.source import RulesSource

ONE = "[a]\nhosts = ['h.test']\nfields.x.css = 'p'\n"
TWO = ONE.replace("'p'", "'b'")


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_a_change_is_in_force_within_a_second(tmp_path: Path) -> None:
    """The file is looked at once a second, and not more often."""
    file, clock = tmp_path / "rules.toml", Clock()
    file.write_text(ONE)
    source = RulesSource(file, clock)
    first = source.current().version
    file.write_text(TWO)
    assert source.current().version == first
    clock.now_s += 1
    assert source.current().version not in (first, None)


@pytest.mark.parametrize("wrong", [b"[a]\nhosts = ['h.test']\nfields.x.css = 'p['", b"[a", b"\xff", None])
def test_a_bad_change_is_refused_as_a_whole(
    tmp_path: Path, wrong: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wrong, half written or gone: the old rules stay, it is told once, and the next good ones are taken."""
    file, clock = tmp_path / "rules.toml", Clock()
    file.write_text(ONE)
    source = RulesSource(file, clock)
    first = source.current()
    if wrong is None:
        file.unlink()
    else:
        file.write_bytes(wrong)
    for _ in range(3):
        clock.now_s += 1
        assert source.current() is first
    assert capsys.readouterr().out.count("rules refused") == (1 if wrong is not None else 3)
    file.write_text(TWO)
    clock.now_s += 1
    assert source.current().version != first.version


def test_a_folder_is_one_set_of_rules(tmp_path: Path) -> None:
    """Its files are read in the order of their names; one that is bad refuses all, also as it comes by a link."""
    folder, clock = tmp_path / "rules", Clock()
    for name, text in (("1", ONE), ("2", TWO.replace("[a]", "[b]"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rules.toml").write_text(text)
    folder.mkdir()
    (folder / "a.toml").symlink_to(tmp_path / "1" / "rules.toml")
    source = RulesSource(folder, clock)
    assert list(source.current().given.rules) == ["a"]
    # As Kubernetes changes what it mounts: a link is replaced by another.
    (folder / "new").symlink_to(tmp_path / "2" / "rules.toml")
    (folder / "new").replace(folder / "a.toml")
    (folder / "c.toml").write_text(ONE.replace("[a]", "[c]"))
    clock.now_s += 1
    assert list(source.current().given.rules) == ["b", "c"]
    (folder / "d.toml").write_text(ONE.replace("[a]", "[c]"))
    clock.now_s += 1
    assert list(source.current().given.rules) == ["b", "c"]


def test_bad_rules_at_the_start_are_the_users_to_mend(tmp_path: Path) -> None:
    """A worker does not begin with other rules than it was given."""
    with pytest.raises(UserError, match=r"cannot be read: No such file"):
        RulesSource(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("[a]")
    with pytest.raises(UserError, match=r"bad\.toml: line 1: a\.hosts: Field required"):
        RulesSource(tmp_path / "bad.toml")
    assert not RulesSource(None).current().about("h.test")
