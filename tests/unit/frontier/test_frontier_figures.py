"""What a frontier tells of itself, also after a restore."""

from collections.abc import Iterator
from pathlib import Path

from frontier_scene import Scene
from frontier_takeover import Log, admit, decide, figures, opened, release

from frontier.figures import figures as told_figures
from infra.kafka.inbound import Inbound


class Batched(Log):
    """The same, all at once."""

    def read(self, offset: int) -> Iterator[list[Inbound]]:
        """One batch."""
        yield self.records[offset:]


def test_changes_in_one_batch_give_what_they_give_one_by_one(tmp_path: Path) -> None:
    """Only the newest change of each key is applied: the same queue, leases and figures."""
    log, batched = Log(), Batched()
    owned, broker, _ = opened(tmp_path / "f", log, "a")
    decide(owned, admit("1", "2", "3"))
    decide(owned, release)
    broker.take()
    batched.records = log.records
    one_by_one, _, _ = opened(tmp_path / "g", log, "b")
    at_once, _, restored = opened(tmp_path / "h", batched, "b")
    assert restored.changes == len(log.records)
    assert figures(at_once) == figures(one_by_one) == figures(owned) == {"queued": 2, "leased": 1, "released": 1}
    store = at_once.memory.store
    assert store.some("h.test", None, 9) == owned.memory.store.some("h.test", None, 9)
    assert store.leases() == owned.memory.store.leases()


def test_the_heartbeat_tells_every_url_once(tmp_path: Path) -> None:
    """Seen is what waits, is out or has ended; a host that waits for its robots.txt is told, its URLs are queued."""
    owned, _, _ = opened(tmp_path / "f", Log(), "a")
    scene = Scene()
    owned.partition.crawl = scene.crawl
    scene.define("c", follow_robots=True)
    decide(owned, admit("1", "2"))
    decide(owned, release)
    told = told_figures([owned])
    assert {name: told[name] for name in ("queued", "leased", "waiting_robots", "seen", "hosts", "outbox")} == {
        "queued": 2,
        "leased": 1,
        "waiting_robots": 1,
        "seen": 2,
        "hosts": 1,
        "outbox": 2,
    }
    assert (told["crawl/c/queued"], told["crawl/c/leased"]) == (2, 0)
