"""The file of a partition."""

from pathlib import Path

from frontier.entry import Entry, Lane, fingerprint
from frontier.store import Store

FRESH = ("c", Lane.FRESH)


def entry(path: str, host: str = "h.test", due_s: float = 0.0) -> Entry:
    """A URL of a host."""
    url = f"http://{host}/{path}"
    return Entry(fingerprint("c", url), "c", url, host, 0, 0, None, 0, 0, due_s, None)


def wait(store: Store, *entries: Entry) -> None:
    """Let them wait."""
    store.begin()
    for each in entries:
        store.see(each.fingerprint)
        store.put(each, each.pack())
    store.commit()


def test_a_host_is_served_by_due_time_then_age() -> None:
    """What is due first comes first; of those due together, what has waited longest."""
    store = Store(":memory:")
    late, old, young, other = entry("late", due_s=5.0), entry("old"), entry("young"), entry("other", "i.test")
    wait(store, late, old, other, young)
    assert store.head("h.test", FRESH, 10) == [old, young, late]
    assert store.head("h.test", FRESH, 2) == [old, young]
    assert list(store.waiting()) == [("h.test", *FRESH, 3), ("i.test", *FRESH, 1)]


def test_a_place_in_the_queue_that_is_given_anew_is_not_taken_by_who_had_it_before(tmp_path: Path) -> None:
    """After a reopening places are counted on from the last that is taken: removing the former holder takes nothing."""
    store = Store(tmp_path / "file")
    former, holder = entry("former"), entry("holder")
    wait(store, former)
    store.remove(former.fingerprint)
    store.close()
    store = Store(tmp_path / "file")
    wait(store, holder)
    assert store.queued(former.fingerprint) is None
    store.remove(former.fingerprint)
    assert store.queued(holder.fingerprint) == holder
    store.remove(holder.fingerprint)
    assert store.head("h.test", FRESH, 10) == []


def test_a_rollback_takes_no_ending_of_another_name() -> None:
    """How a URL ended is right also when the batch that first used the name was rolled back."""
    store = Store(":memory:")
    first, second = entry("1"), entry("2")
    wait(store, first, second)
    store.begin()
    store.end(first.fingerprint, "c/pages/released")
    store.rollback()
    store.begin()
    store.end(first.fingerprint, "c/errors/released")
    store.end(second.fingerprint, "c/pages/released")
    store.commit()
    assert store.ended(first.fingerprint) == "c/errors/released"
    assert store.ended(second.fingerprint) == "c/pages/released"
