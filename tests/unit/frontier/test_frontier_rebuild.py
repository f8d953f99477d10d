"""A file made anew from its changelog: the same as if every change had been applied, and whole or not there."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from frontier_scene import Scene, robots

from frontier.memory import Memory
from frontier.rebuild import Change, rebuild
from frontier.store import Store
from schemas.outcomes import Outcome


def lived() -> list[Change]:
    """The changelog of a crawl that has seen some life: every kind of change is in it, and some keys often."""
    scene = Scene()
    scene.define("polite", follow_robots=True)
    scene.admit(*(f"http://a.test/{number}" for number in range(40)))
    scene.admit("http://b.test/x", "http://b.test/private", crawl="polite", depth=3)
    first, _ = scene.release()
    robots(scene, "User-agent: *\nDisallow: /private\n")
    scene.settle(first)
    outcomes = [Outcome.OK, Outcome.TIMEOUT, Outcome.REDIRECT, Outcome.CLIENT_ERROR]
    for number in range(24):
        for request in scene.release(400):
            if number < 20:
                scene.settle(request, outcomes[number % 4], redirect_to="http://a.test/0")
    return scene.changes


def content(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """What the file holds, the queue in its order; places are not compared, they are anybody's."""
    with sqlite3.connect(path) as db:
        endings = "SELECT hex(fingerprint), name FROM seen LEFT JOIN endings ON id = ended ORDER BY 1"
        columns = "hex(fingerprint), host, lane, due_s, rank, packed"
        queue = f"SELECT {columns} FROM queue ORDER BY host, lane, due_s, rank, seq"
        found = {"seen": db.execute(endings).fetchall(), "queue": db.execute(queue).fetchall()}
        for table in ("leases", "hosts", "robots", "tallies", "counts"):
            found[table] = db.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
        assert db.execute("SELECT 1 FROM sqlite_master WHERE name = 'queue_order'").fetchone()
        places = "SELECT count(*) FROM queue JOIN seen USING (fingerprint) WHERE place = seq"
        assert db.execute(places).fetchone()[0] == len(found["queue"])
    return found


def test_it_is_what_the_changes_make_one_by_one(tmp_path: Path) -> None:
    """URLs that wait in their order, those being fetched, endings, hosts, robots.txt and figures are the same."""
    changes = lived()
    one_by_one = Store(tmp_path / "1.sqlite")
    memory = Memory(one_by_one, 0)
    one_by_one.begin()
    for key, value in changes:
        memory.apply(key, value)
    memory.forget()
    one_by_one.commit()
    one_by_one.close()
    assert rebuild(tmp_path / "2.sqlite", 0, [changes]) == len(changes)
    first, second = content(tmp_path / "1.sqlite"), content(tmp_path / "2.sqlite")
    # A figure that has come back to nothing has a row or has none.
    first["counts"] = [row for row in first["counts"] if row[1]]
    assert first == second
    assert [table for table in second if not second[table]] == []


def test_the_rebuilt_file_goes_on(tmp_path: Path) -> None:
    """What is queued after it comes behind what was: places are not given twice."""
    path = tmp_path / "p.sqlite"
    rebuild(path, 0, [lived()])
    scene = Scene(path)
    waiting = scene.stored()["queued"]
    scene.admit("http://a.test/new")
    assert scene.stored()["queued"] == waiting + 1
    assert scene.memory.store.head("a.test", ("c", "fresh"), 99)[-1].url == "http://a.test/new"  # type: ignore[arg-type]


def test_a_process_that_dies_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """Nothing stands at the path before all is written; what was left behind is no hindrance to the next try."""
    path = tmp_path / "p.sqlite"

    def breaking() -> Iterator[list[Change]]:
        yield lived()
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        rebuild(path, 0, breaking())
    assert not path.exists()
    rebuild(path, 0, [lived()])
    assert path.exists()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["p.sqlite"]


def test_nothing_makes_an_empty_file(tmp_path: Path) -> None:
    """A changelog without records is one too."""
    assert rebuild(tmp_path / "p.sqlite", 0, []) == 0
    assert content(tmp_path / "p.sqlite")["seen"] == []
