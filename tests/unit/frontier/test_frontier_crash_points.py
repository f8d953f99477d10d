"""Crashes, restarts and set-back clocks at the worst moments: nothing lost, nothing doubled, nothing stuck."""

from datetime import timedelta
from pathlib import Path

from frontier_scene import Scene, robots

from frontier.entry import Entry, fingerprint
from frontier.leases import Lease, unpack_lease
from frontier.memory import Memory
from frontier.partition import USED
from frontier.results import expire
from frontier.store import Store
from infra.kafka.topics import TopicName
from schemas.outcomes import Outcome
from schemas.records import Kind

DAY_S = 86_400.0


def restart(scene: Scene, after_s: float) -> None:
    """The process dies and its file is opened again."""
    scene.memory.store.close()
    scene.now_s += after_s
    scene.open(Store(scene.path))


def restored(changes: list[tuple[bytes, bytes | None]]) -> Memory:
    """What a changelog gives."""
    memory = Memory(Store(":memory:"), 0)
    memory.store.begin()
    for key, value in changes:
        memory.apply(key, value)
    memory.forget()
    memory.store.commit()
    return memory


def figures(memory: Memory) -> dict[str, int]:
    """Its counts that are not zero."""
    return {name: value for name, value in memory.counts.items() if value}


def test_the_delay_counts_also_from_a_request_of_before_the_restart(tmp_path: Path) -> None:
    """A request that was out while the frontier restarted is answered late: the host rests a whole delay after it."""
    scene = Scene(tmp_path / "file")
    scene.admit("http://h.test/1", "http://h.test/2")
    [first] = scene.release()
    restart(scene, 50.0)
    scene.release(30.0)
    scene.settle(first)
    assert scene.release(0.9) == []
    assert len(scene.release(0.2)) == 1


def test_the_longer_delay_of_another_crawl_counts_from_the_last_request() -> None:
    """A host that two crawls share is asked at the pace of the slower one."""
    scene = Scene()
    scene.define("slow", delay_ms=10_000)
    scene.admit("http://h.test/1")
    [first] = scene.release()
    scene.settle(first)
    scene.admit("http://h.test/2", crawl="slow")
    assert scene.release(1.5) == []
    assert len(scene.release(8.6)) == 1


def test_a_clock_that_was_set_back_delays_no_retry_for_long(tmp_path: Path) -> None:
    """What waits to be tried again is due within the longest Retry-After, whatever the clock has done."""
    scene = Scene(tmp_path / "file", now_s=2e9)
    scene.admit("http://h.test/1")
    [first] = scene.release()
    scene.settle(first, Outcome.SERVER_ERROR)
    restart(scene, -365 * DAY_S)
    scene.release()
    assert len(scene.release(3_601.0)) == 1


def test_a_clock_that_was_set_back_keeps_no_robots_txt_for_ever(tmp_path: Path) -> None:
    """A file that was read a year from now is read anew."""
    scene = Scene(tmp_path / "file", now_s=2e9)
    scene.define("c", follow_robots=True)
    scene.admit("http://h.test/1")
    scene.release()
    robots(scene, "")
    restart(scene, -365 * DAY_S)
    scene.release()
    [request] = scene.release(3_700.0)
    assert request.kind is Kind.ROBOTS


def test_one_robots_txt_at_a_time_also_where_more_requests_are_allowed() -> None:
    """With many at a time and no delay the file is asked for once, and its answer frees the host."""
    scene = Scene(per_host=4, delay=timedelta(0))
    scene.define("c", follow_robots=True)
    scene.admit(*(f"http://h.test/{number}" for number in range(9)))
    assert [request.kind for request in scene.release()] == [Kind.ROBOTS]
    assert scene.release(1.0) == []
    robots(scene, "")
    assert [request.kind for request in scene.release()] == [Kind.PAGE] * 4


def test_changes_that_were_published_twice_count_once() -> None:
    """A bundle is sent again after a crash: whoever restores from both copies gets the same figures."""
    scene = Scene()
    scene.admit("http://h.test/1")
    scene.admit("http://i.test/1", depth=5_000)
    [first] = scene.release()
    scene.settle(first)
    assert figures(restored([*scene.changes, *scene.changes])) == figures(scene.memory)
    assert figures(restored([*scene.changes, *scene.changes[1:]])) == figures(scene.memory)


def test_compaction_hides_no_release_from_the_budget() -> None:
    """Pages that were released count after a restore, also those that wait for their second attempt or were refused."""
    scene = Scene(give_up_host_after=2)
    scene.admit("http://h.test/1")
    scene.admit("http://i.test/1")
    first, second = sorted(scene.release(), key=lambda request: request.host)
    scene.settle(first, Outcome.SERVER_ERROR)
    scene.settle(second, Outcome.TIMEOUT)
    compacted = list({key: (key, value) for key, value in scene.changes}.values())
    assert figures(restored(compacted)) == figures(scene.memory)
    [again] = [request for request in scene.release(2.0) if request.host == "i.test"]
    scene.settle(again, Outcome.TIMEOUT)
    compacted = list({key: (key, value) for key, value in scene.changes}.values())
    assert figures(restored(compacted)) == figures(scene.memory)


def test_a_redirect_whose_target_was_not_published_is_published_by_the_repeat() -> None:
    """The change came to the changelog, then the disk was lost: reading the result again hands the target on again."""
    scene = Scene()
    scene.admit("http://h.test/1")
    [first] = scene.release()
    scene.settle(first, Outcome.REDIRECT, redirect_to="http://h.test/2")
    once = [links.urls for links in scene.links]
    scene.links.clear()
    scene.settle(first, Outcome.REDIRECT, redirect_to="http://h.test/2")
    assert [links.urls for links in scene.links] == once == [["http://h.test/2"]]


def test_a_url_that_nobody_ever_answers_ends() -> None:
    """A request that is lost again and again ends as an error with a decision: its crawl can finish."""
    scene = Scene()
    scene.admit("http://h.test/1")
    for _ in range(50):
        if not scene.release(400.0):
            break
        scene.now_s += 400.0
        with scene.step():
            expire(scene.partition, TopicName.URLS, scene.now_s, scene.now_s)
    assert scene.stored() == {"queued": 0, "leased": 0}
    assert scene.count("errors") == 1
    assert [decision.reason for decision in scene.decisions] == ["no_result"]


def test_a_host_with_very_many_urls_is_given_up_in_steps() -> None:
    """No transaction holds a whole queue: memory stays bounded, and in the end every URL has its decision."""
    scene = Scene(give_up_host_after=1)
    scene.admit(*(f"http://h.test/{number}" for number in range(8_000)))
    [first] = scene.release()
    before = len(scene.changes)
    scene.settle(first, Outcome.TIMEOUT)
    assert len(scene.changes) - before < 1_500
    steps = 0
    while scene.stored()["queued"]:
        scene.release(0.0)
        steps += 1
    assert steps > 1
    assert len(scene.decisions) == 8_000
    assert scene.count("refused") == 8_000


def test_a_round_is_bounded() -> None:
    """When very many hosts are due at once they are served in rounds, none forgotten."""
    scene = Scene()
    scene.define("c", max_pages=1)
    for host in range(20):
        scene.admit(*(f"http://h{host}.test/{number}" for number in range(600)))
    before = len(scene.changes)
    assert len(scene.release()) == 1
    assert len(scene.changes) - before < 7_000
    for _ in range(10):
        scene.release()
    assert scene.stored() == {"queued": 599, "leased": 1}
    assert scene.count("refused") == 19 * 600


def test_a_lease_survives_the_file(tmp_path: Path) -> None:
    """A lease that was packed is the same one, its time anew."""
    entry = Entry(fingerprint("c", "u"), "c", "http://h.test/", "h.test", 1, 2, None, 0, 1, 0.0, None)
    assert unpack_lease(entry.lease, "h.test", entry.pack(), 5.0) == Lease("h.test", entry, "", 2, 5.0)
    store = Store(tmp_path / "file")
    store.lease(entry.lease, "h.test", entry.pack())
    assert store.lease_of(entry.fingerprint) == (entry.lease, entry.pack())
    assert store.meta(USED) is None
    store.close()
