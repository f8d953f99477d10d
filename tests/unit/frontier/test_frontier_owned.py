"""Taking a partition over: what the file holds, what the changelog holds, and which of them is believed."""

from pathlib import Path

import pytest
from frontier_scene import NOW_S
from frontier_takeover import Log, admit, decide, figures, opened, pay, release

from frontier.lost import is_passed
from frontier.memory import OWNER_HEADER
from infra.errors import Fatal
from infra.kafka.topics import TopicName


def test_the_world_hears_of_a_decision_after_the_changelog(tmp_path: Path) -> None:
    """A request is sent only when every change of its bundle is in the changelog."""
    log = Log()
    owned, broker, _ = opened(tmp_path / "f", log, "a")
    decide(owned, admit("1"))
    decide(owned, release)
    broker.take(len(broker.waiting) - 1)
    assert broker.world == []
    assert [record.topic for record, _, _ in broker.waiting] == [TopicName.FRONTIER_STATE]
    broker.take()
    assert [record.topic for record in broker.world] == [TopicName.URLS]


def test_what_a_crash_left_owed_is_published_by_the_next_process(tmp_path: Path) -> None:
    """However often it crashes before the broker takes anything, and also when it had taken a part."""
    log = Log()
    owned, broker, _ = opened(tmp_path / "f", log, "a")
    decide(owned, admit("1"))
    decide(owned, release)
    owned.close()
    for name, taken in (("b", 1), ("c", 2), ("d", 0)):
        owned, broker, restored = opened(tmp_path / "f", log, name)
        assert restored.changes == 0
        broker.take(taken)
        owned.close()
    owned, broker, _ = opened(tmp_path / "f", log, "e")
    broker.take()
    assert [record.topic for record in broker.world] == [TopicName.URLS]
    assert figures(owned) == {"leased": 1, "released": 1}
    owned.close()
    alone, _, restored = opened(tmp_path / "g", log, "f")
    assert restored.how == "restored"
    assert figures(alone) == {"leased": 1, "released": 1}


def test_changes_that_a_power_cut_took_from_the_file_come_back(tmp_path: Path) -> None:
    """The file is older than what it published: the changelog is believed, its own changes included."""
    log = Log()
    owned, broker, _ = opened(tmp_path / "f", log, "a")
    decide(owned, admit("1", "2"))
    broker.take()
    pay(owned)
    owned.memory.store.close()
    old = (tmp_path / "f").read_bytes()
    owned, broker, _ = opened(tmp_path / "f", log, "b")
    decide(owned, release)
    broker.take()
    pay(owned)
    assert figures(owned) == {"queued": 1, "leased": 1, "released": 1}
    owned.close()
    (tmp_path / "f").write_bytes(old)
    again, _, restored = opened(tmp_path / "f", log, "c")
    assert restored.how == "caught up"
    assert figures(again) == {"queued": 1, "leased": 1, "released": 1}


def test_a_file_that_owes_what_others_have_decided_is_thrown_away(tmp_path: Path) -> None:
    """Two files decided on the same input: the one that is not in the changelog goes."""
    log = Log()
    first, _, _ = opened(tmp_path / "f", log, "a")
    decide(first, admit("1"))
    first.close()
    second, broker, _ = opened(tmp_path / "g", log, "b")
    decide(second, admit("1"))
    decide(second, release)
    broker.take()
    third, broker, restored = opened(tmp_path / "f", log, "c")
    assert restored.how == "restored"
    assert broker.waiting == []
    assert figures(third) == {"leased": 1, "released": 1}


@pytest.mark.parametrize("broken", [b"no database at all" * 100, b""])
def test_a_file_that_cannot_be_read_is_made_anew(tmp_path: Path, broken: bytes) -> None:
    """A broken disk costs a restore, not an endless restart."""
    log = Log()
    owned, broker, _ = opened(tmp_path / "f", log, "a")
    decide(owned, admit("1"))
    broker.take()
    owned.close()
    (tmp_path / "f").write_bytes(broken)
    again, _, _ = opened(tmp_path / "f", log, "b")
    assert figures(again) == {"queued": 1}


def test_a_file_of_another_format_is_made_anew(tmp_path: Path) -> None:
    """After an update the changelog gives the state."""
    log = Log()
    owned, broker, _ = opened(tmp_path / "f", log, "a")
    decide(owned, admit("1"))
    broker.take()
    owned.memory.store._db.execute("PRAGMA user_version = 1")  # what an older version left
    owned.close()
    again, _, restored = opened(tmp_path / "f", log, "b")
    assert restored.how == "restored"
    assert figures(again) == {"queued": 1}


def test_two_processes_never_write_to_one_file(tmp_path: Path) -> None:
    """Whoever opened it first ends, loudly, at the next decision."""
    log = Log()
    first, _, _ = opened(tmp_path / "f", log, "a")
    opened(tmp_path / "f", log, "b")
    with pytest.raises(Fatal):
        first.begin()


def test_an_abandoned_partition_tells_the_world_nothing_more(tmp_path: Path) -> None:
    """What was on its way when the partition was lost is not released by the one that lost it."""
    log = Log()
    owned, broker, _ = opened(tmp_path / "f", log, "a")
    decide(owned, admit("1"))
    decide(owned, release)
    owned.publisher.abandon()
    broker.take()
    assert broker.world == []
    assert owned.publisher.owes(owned.publisher.newest)


def test_every_change_is_signed(tmp_path: Path) -> None:
    """With the opening's name and the bundle's number, which grows."""
    log = Log()
    owned, broker, _ = opened(tmp_path / "f", log, "a")
    decide(owned, admit("1"))
    decide(owned, release)
    broker.take()
    assert list(dict.fromkeys(record.headers[OWNER_HEADER] for record in log.records)) == [b"a/1", b"a/2"]
    assert all(record.headers.keys() == {OWNER_HEADER} for record in log.records)


class Others:
    """Where the topics end and how far the fetchers are, as the test says."""

    def __init__(self) -> None:
        self.ends = {TopicName.URLS: 0, TopicName.FETCHES: 0}
        self.done = 0

    def committed(self, _partition: int) -> int:
        """Of ``urls``."""
        return self.done

    def end(self, _partition: int, topic: TopicName) -> int:
        """Of a topic."""
        return self.ends[topic]


def test_a_lease_is_lost_only_when_every_result_has_been_read(tmp_path: Path) -> None:
    """Not while its request is owed, nor waits in ``urls``, nor while its result may still wait in ``fetches``."""
    log, others = Log(), Others()
    owned, broker, _ = opened(tmp_path / "f", log, "a")
    owned.positions[TopicName.FETCHES] = 0
    decide(owned, admit("1"))
    decide(owned, release)
    owned.watches[TopicName.URLS].begin(NOW_S, owned.publisher.newest)
    assert not is_passed(0, owned, TopicName.URLS, others)
    broker.take()
    pay(owned)
    others.ends = {TopicName.URLS: 10, TopicName.FETCHES: 7}
    assert not is_passed(0, owned, TopicName.URLS, others)
    others.ends = {TopicName.URLS: 12, TopicName.FETCHES: 9}
    others.done = 10
    owned.positions[TopicName.FETCHES] = 8
    assert not is_passed(0, owned, TopicName.URLS, others)
    owned.positions[TopicName.FETCHES] = 9
    others.ends[TopicName.FETCHES] = 11
    assert is_passed(0, owned, TopicName.URLS, others)


def test_a_file_that_did_not_hear_what_the_broker_has_keeps_what_it_owes(tmp_path: Path) -> None:
    """The broker has the first changes of a file that died before it was told: it goes on, and owes the rest."""
    path, log = tmp_path / "p.sqlite", Log()
    owned, broker, _ = opened(path, log, "first")
    decide(owned, admit("1", "2"))
    owes = len(broker.waiting)
    broker.take(1)
    owned.close()
    assert log.end == 1
    again, broker, restored = opened(path, log, "second")
    assert (restored.how, restored.changes) == ("warm", 0)
    broker.take()
    assert (log.end, figures(again)) == (1 + owes, {"queued": 2})
