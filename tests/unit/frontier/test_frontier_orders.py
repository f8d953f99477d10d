"""Operators steer: pause, stop, block, delay, budget, priority. And several crawls share a host."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from frontier_scene import Scene

from frontier.store import Store
from schemas.orders import Action, Order, Orders, Subject
from schemas.outcomes import Outcome


def order(scene: Scene, *orders: tuple[Action, str, float | None]) -> None:
    """Put these in force, and no others."""
    made = []
    for action, target, amount in orders:
        subject, _, name = target.partition(":")
        made.append(
            Order(
                action=action,
                subject=Subject(subject),
                target=name,
                amount=amount,
                by="t",
                ordered_at=datetime.now(UTC),
            )
        )
    with scene.step():
        scene.partition.obey(Orders(made))


def fetched(scene: Scene, rounds: int) -> list[str]:
    """Release and answer, a second apart; the URLs in their order."""
    urls = []
    for _ in range(rounds):
        for request in scene.release(after_s=1.0):
            urls.append(request.url)
            scene.settle(request)
    return urls


def test_a_paused_crawl_keeps_its_place_and_lets_others_by() -> None:
    """Nothing of it is released, another crawl on the same host goes on, and a resume takes up where it was."""
    scene = Scene()
    scene.admit(*(f"http://h.test/a{n}" for n in range(3)), crawl="a")
    scene.admit(*(f"http://h.test/b{n}" for n in range(3)), crawl="b")
    order(scene, (Action.PAUSE, "crawl:a", None))
    assert fetched(scene, 5) == [f"http://h.test/b{n}" for n in range(3)]
    assert scene.partition.next_s() is None
    order(scene)
    assert fetched(scene, 5) == [f"http://h.test/a{n}" for n in range(3)]


def test_a_paused_host_is_not_asked() -> None:
    """A host that is paused waits, the others go on."""
    scene = Scene()
    scene.admit("http://h.test/")
    scene.admit("http://i.test/")
    order(scene, (Action.PAUSE, "host:h.test", None))
    assert fetched(scene, 3) == ["http://i.test/"]
    order(scene)
    assert fetched(scene, 1) == ["http://h.test/"]


def test_a_stopped_crawl_ends_and_others_do_not() -> None:
    """What waits is refused without a decision for each URL; what comes later too; the other crawl is complete."""
    scene = Scene()
    scene.admit(*(f"http://h.test/a{n}" for n in range(700)), crawl="a")
    scene.admit("http://h.test/b", crawl="b")
    order(scene, (Action.STOP, "crawl:a", None))
    assert fetched(scene, 3) == ["http://h.test/b"]
    scene.admit("http://h.test/late", crawl="a")
    assert fetched(scene, 2) == []
    assert (scene.count("refused", "a"), scene.count("queued", "a")) == (701, 0)
    assert scene.decisions == []


def test_a_blocked_host_and_a_blocked_pattern_are_refused_with_a_reason() -> None:
    """Every URL gets its decision, and what does not match is fetched."""
    scene = Scene()
    scene.admit("http://h.test/1", "http://h.test/2")
    scene.admit("http://i.test/keep", "http://i.test/calendar/1")
    order(scene, (Action.BLOCK, "host:h.test", None), (Action.BLOCK, "pattern:/calendar/", None))
    assert fetched(scene, 3) == ["http://i.test/keep"]
    scene.admit("http://h.test/3")
    fetched(scene, 1)
    assert Counter(each.reason for each in scene.decisions) == {"blocked": 4}


def test_an_ordered_delay_is_kept_at_once_in_both_directions() -> None:
    """Longer or shorter than before, from the next request on; a robots.txt that asks for more keeps its due."""
    scene = Scene(delay=timedelta(seconds=10))
    scene.admit(*(f"http://h.test/{n}" for n in range(5)))
    [first] = scene.release()
    scene.settle(first)
    order(scene, (Action.DELAY, "host:h.test", 12))
    assert scene.release(after_s=11.9) == []
    [second] = scene.release(after_s=0.1)
    scene.settle(second)
    order(scene, (Action.DELAY, "host:h.test", 2))
    assert scene.release(after_s=1.9) == []
    [third] = scene.release(after_s=0.1)
    scene.settle(third)
    order(scene, (Action.DELAY, "crawl:c", 30))
    assert scene.release(after_s=29) == []
    assert len(scene.release(after_s=1)) == 1


def test_an_ordered_budget_replaces_the_crawl_s() -> None:
    """Raised or lowered while it runs; what is over it is refused."""
    scene = Scene()
    scene.define("c", max_pages=1)
    scene.admit(*(f"http://h.test/{n}" for n in range(5)))
    order(scene, (Action.BUDGET, "crawl:c", 3))
    assert len(fetched(scene, 6)) == 3
    assert scene.count("refused") == 2


def test_a_higher_priority_goes_first_and_depth_decides_between_equals() -> None:
    """Also when what it overtakes was in memory already."""
    scene = Scene(hot_entries=2)
    scene.admit("http://h.test/deep", "http://h.test/deep2", "http://h.test/deep3", depth=3)
    scene.admit("http://h.test/near", depth=1)
    order(scene, (Action.PRIORITY, "pattern:news", 5))
    scene.admit("http://h.test/news", depth=9)
    names = ["news", "near", "deep", "deep2", "deep3"]
    assert fetched(scene, 6) == [f"http://h.test/{name}" for name in names]


def test_crawls_share_a_host_as_their_weights_say() -> None:
    """A crawl with ten thousand URLs does not starve one with ten, and a weight is a share."""
    scene = Scene()
    scene.define("small", weight=3)
    scene.admit(*(f"http://h.test/big{n}" for n in range(300)), crawl="big")
    fetched(scene, 20)
    scene.admit(*(f"http://h.test/small{n}" for n in range(60)), crawl="small")
    shares = Counter("small" in url for url in fetched(scene, 40))
    assert shares[True] in (30, 31)


def test_what_is_tried_again_is_not_starved_by_what_is_new() -> None:
    """A host with many new URLs still tries a failed one again, in its lane's share of turns."""
    scene = Scene(backoff_shortest=timedelta(seconds=1), backoff_longest=timedelta(seconds=1))
    scene.admit(*(f"http://h.test/{n}" for n in range(100)))
    [first] = scene.release()
    scene.settle(first, Outcome.SERVER_ERROR)
    scene.now_s += 5
    assert first.url in fetched(scene, 5)


def test_the_queues_are_as_they_were_after_a_restart(tmp_path: Path) -> None:
    """Crawl, lane and rank of what waits are kept: the order is the same."""
    scene = Scene(tmp_path / "file")
    scene.admit("http://h.test/deep", depth=3, crawl="a")
    scene.admit("http://h.test/near", depth=1, crawl="a")
    scene.admit("http://h.test/other", depth=1, crawl="b")
    scene.memory.store.close()
    scene.open(Store(tmp_path / "file"))
    scene.now_s += 2
    assert fetched(scene, 4) == ["http://h.test/near", "http://h.test/other", "http://h.test/deep"]
