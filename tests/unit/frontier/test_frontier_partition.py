"""What the frontier decides about URLs and hosts."""

from datetime import timedelta
from pathlib import Path

import pytest
from frontier_scene import Scene, robots

from frontier.memory import Memory
from frontier.results import expire
from frontier.store import Store
from infra.kafka.topics import TopicName
from schemas.outcomes import Outcome
from schemas.records import Kind

A, B = "http://a.test/1", "http://a.test/2"


def test_a_url_is_released_once() -> None:
    """A URL that was handed over many times is requested once."""
    scene = Scene()
    scene.admit(A, A, B)
    scene.admit(A)
    first = scene.release()
    scene.settle(first[0])
    second = scene.release(after_s=1)
    scene.settle(second[0])
    assert [request.url for request in scene.requests] == [A, B]
    assert scene.release(after_s=100) == []
    assert scene.count("pages") == 2


def test_one_request_for_a_host_at_a_time_and_the_delay_between() -> None:
    """The next request waits for the result, and for the delay since the host began to answer."""
    scene = Scene()
    scene.admit(A, B)
    [request] = scene.release()
    assert scene.release(after_s=50) == []
    # The first byte came 0.4 s before the end of the fetch.
    scene.settle(request, first_byte_ms=100.0, total_ms=500.0)
    assert scene.release(after_s=0.59) == []
    assert len(scene.release(after_s=0.02)) == 1


def test_hosts_do_not_wait_for_each_other() -> None:
    """A host that is being asked holds up no other."""
    scene = Scene()
    scene.admit(A, B)
    scene.admit("http://b.test/")
    assert {request.host for request in scene.release()} == {"a.test", "b.test"}


def test_more_at_a_time_where_the_owner_allows_it() -> None:
    """With per_host 2 and no delay two requests are out, never three."""
    scene = Scene(per_host=2, delay=timedelta(0))
    scene.admit(A, B, "http://a.test/3")
    assert len(scene.release()) == 2
    assert scene.release(after_s=9) == []


def test_robots_first_and_obeyed() -> None:
    """Before any page of an origin its robots.txt is read; what it forbids is refused, with a decision."""
    scene = Scene()
    scene.define("c", follow_robots=True)
    scene.admit("http://a.test/private/x", A)
    [request] = scene.release()
    assert (request.kind, request.url) == (Kind.ROBOTS, "http://a.test/robots.txt")
    robots(scene, "User-agent: *\nDisallow: /private\n")
    [page] = scene.release(after_s=1)
    assert page.url == A
    assert page.robots is not None
    assert [(each.reason, each.url) for each in scene.decisions] == [("robots_denied", "http://a.test/private/x")]


def test_a_crawl_delay_counts_from_the_request_that_told_it() -> None:
    """The first page comes a whole Crawl-delay after the robots.txt."""
    scene = Scene(delay=timedelta(0))
    scene.define("c", follow_robots=True)
    scene.admit(A)
    scene.release()
    robots(scene, "User-agent: odradek\nCrawl-delay: 7\n")
    assert scene.release(after_s=6.9) == []
    assert len(scene.release(after_s=0.2)) == 1


@pytest.mark.parametrize("outcome", [Outcome.SERVER_ERROR, Outcome.TIMEOUT, Outcome.DNS_ERROR, Outcome.RATE_LIMITED])
def test_robots_never_fails_open(outcome: Outcome) -> None:
    """While a robots.txt cannot be had no page is requested; in the end the URLs are refused, not fetched."""
    scene = Scene()
    scene.define("c", follow_robots=True)
    scene.admit(A)
    for _ in range(20):
        for request in scene.release(after_s=400):
            assert request.kind is Kind.ROBOTS
            scene.settle(request, outcome)
    assert {each.reason for each in scene.decisions} == {"robots_unavailable"}
    assert scene.stored() == {"queued": 0, "leased": 0}


def test_a_missing_robots_txt_allows_everything() -> None:
    """4xx means that there are no rules (RFC 9309, 2.3.1.3)."""
    scene = Scene()
    scene.define("c", follow_robots=True)
    scene.admit(A)
    scene.settle(scene.release()[0], Outcome.CLIENT_ERROR, status=404)
    assert [request.url for request in scene.release(after_s=1)] == [A]


def test_a_redirected_robots_txt_is_followed_and_then_believed() -> None:
    """Up to five redirects lead to the rules; their rules count."""
    scene = Scene()
    scene.define("c", follow_robots=True)
    scene.admit(A)
    scene.settle(scene.release()[0], Outcome.REDIRECT, redirect_to="http://a.test/r.txt")
    [second] = scene.release(after_s=1)
    assert (second.kind, second.url, second.hops) == (Kind.ROBOTS, "http://a.test/r.txt", 1)
    robots(scene, "User-agent: *\nDisallow: /\n")
    assert scene.release(after_s=1) == []
    assert [each.reason for each in scene.decisions] == ["robots_denied"]


def test_an_address_that_may_not_be_dialled_ends_the_host_at_once() -> None:
    """A blocked address is final: no retries of its robots.txt, and the reason is told."""
    scene = Scene()
    scene.define("c", follow_robots=True)
    scene.admit(A, B)
    scene.settle(scene.release()[0], Outcome.BLOCKED_ADDRESS)
    assert [each.reason for each in scene.decisions] == ["robots_blocked_address"] * 2
    assert scene.count("refused") == 2


def test_trouble_is_tried_again_later_and_then_final() -> None:
    """A server error is tried three times, each wait longer than the one before."""
    scene = Scene()
    scene.admit(A)
    waits: list[float] = []
    for attempt in range(3):
        start_s = scene.now_s
        while not (found := scene.release(after_s=0.25)):
            pass
        waits.append(scene.now_s - start_s)
        assert found[0].attempt == attempt
        scene.settle(found[0], Outcome.SERVER_ERROR, status=503)
    assert waits == sorted(waits)
    assert scene.release(after_s=10_000) == []
    assert (scene.count("errors"), scene.count("queued"), scene.count("leased")) == (1, 0, 0)


def test_retry_after_is_honoured() -> None:
    """429 with Retry-After: 120 keeps the host quiet for two minutes."""
    scene = Scene()
    scene.admit(A, B)
    scene.settle(scene.release()[0], Outcome.RATE_LIMITED, status=429, retry_after="120")
    assert scene.release(after_s=119) == []
    assert len(scene.release(after_s=2)) == 1


def test_a_host_that_never_answers_is_given_up() -> None:
    """After ten silences in a row what waits for the host ends as unreachable."""
    scene = Scene(attempts=20)
    scene.admit(A, B)
    for _ in range(30):
        for request in scene.release(after_s=1_000):
            scene.settle(request, Outcome.CONNECT_ERROR)
    assert {each.reason for each in scene.decisions} == {"host_unreachable"}
    assert scene.stored() == {"queued": 0, "leased": 0}
    assert scene.count("queued") == scene.count("leased") == 0


def test_budget_and_depth() -> None:
    """No more pages than the crawl's budget are requested; what is too deep is refused with a decision."""
    scene = Scene()
    scene.define("c", max_pages=1, max_depth=3)
    scene.admit(A, B)
    scene.admit("http://a.test/deep", depth=4)
    scene.settle(scene.release()[0])
    assert scene.release(after_s=1) == []
    assert [each.reason for each in scene.decisions] == ["too_deep"]
    assert (scene.count("released"), scene.count("refused"), scene.count("queued")) == (1, 2, 0)


def test_a_result_without_its_lease_changes_nothing() -> None:
    """A repeat of a result, or one of an older attempt, frees no host."""
    scene = Scene()
    scene.admit(A, B)
    [first] = scene.release()
    scene.settle(first)
    [second] = scene.release(after_s=1)
    scene.settle(first)
    assert scene.release(after_s=50) == []
    assert scene.stored() == {"queued": 0, "leased": 1}
    scene.settle(second)
    assert scene.count("pages") == 2


def test_a_lost_lease_is_released_again_and_a_waiting_one_is_not() -> None:
    """Only what the fetchers have passed, and long ago, is tried again."""
    scene = Scene()
    scene.admit(A)
    [request] = scene.release()
    scene.now_s += 1_000
    with scene.step():
        assert expire(scene.partition, TopicName.URLS, request.released_at.timestamp() * 0, scene.now_s) == 0
    with scene.step():
        assert expire(scene.partition, TopicName.URLS, scene.now_s, scene.now_s) == 1
    [again] = scene.release(after_s=1)
    assert (again.url, again.attempt) == (A, 1)


def test_a_restart_keeps_everything_and_rests_one_delay(tmp_path: Path) -> None:
    """After a crash the queue and the leases are there, and no host is asked before one whole delay."""
    scene = Scene(tmp_path / "p.sqlite")
    scene.admit(A, B)
    scene.admit("http://b.test/")
    scene.release()
    scene.memory.store.close()
    scene.now_s += 0.1
    scene.open(Store(tmp_path / "p.sqlite"))
    assert scene.stored() == {"queued": 1, "leased": 2}
    assert scene.release() == []
    scene.settle(scene.requests[0])
    assert scene.release(after_s=0.9) == []
    assert [request.url for request in scene.release(after_s=0.2)] == [B]


def test_the_changelog_alone_gives_the_state_back() -> None:
    """Without the disk, from all changes or from the newest of each key: same queue, leases and figures."""
    scene = Scene()
    scene.define("c", follow_robots=True)
    scene.admit(A, B, "http://a.test/3")
    scene.release()
    robots(scene, "User-agent: *\nDisallow: /3\n")
    scene.settle(scene.release(after_s=1)[0])
    scene.release(after_s=1)
    compacted = list({key: (key, value) for key, value in scene.changes}.values())
    for changes in (scene.changes, compacted):
        store = Store(":memory:")
        memory = Memory(store, 0)
        store.begin()
        for key, value in changes:
            memory.apply(key, value)
        memory.forget()
        store.commit()
        restored = Scene()
        restored.memory = memory
        assert restored.stored() == scene.stored()
        assert [name for name, _, _ in store.leases()] == [name for name, _, _ in scene.memory.store.leases()]
        for name in ("queued", "leased", "pages", "released"):
            assert memory.counts[f"crawl/c/{name}"] == scene.count(name), name
        assert store.robots("http://a.test") == scene.memory.store.robots("http://a.test")


def test_it_may_rest_for_a_hundredth_of_the_delay_that_is_usual() -> None:
    """Late by more it would lose more of the polite rate; where no delay is kept, requests are what counts."""
    scene = Scene()
    for number in range(600):
        scene.admit(f"http://{number}.test/")
    scene.release()
    assert scene.partition.longest_rest_s == pytest.approx(0.01)
    scene.define("quick", delay_ms=0)
    for number in range(600):
        scene.admit(f"http://quick-{number}.test/", crawl="quick")
    scene.release()
    assert scene.partition.longest_rest_s == pytest.approx(1.0, rel=0.01)


def test_a_host_in_trouble_gets_one_probe_at_a_time() -> None:
    """With four requests allowed at once: none while its circuit is open, one when half open, four when closed."""
    scene = Scene(per_host=4, delay=timedelta(0))
    scene.admit(*(f"http://a.test/{number}" for number in range(20)))
    host = scene.partition.host("a.test", scene.now_s)
    first = scene.release()
    assert (len(first), host.circuit(scene.now_s)) == (4, "closed")
    for request in first:
        scene.settle(request, Outcome.TIMEOUT)
    assert (scene.release(), host.circuit(scene.now_s)) == ([], "open")
    (probe,) = scene.release(60)
    assert host.circuit(scene.now_s) == "half_open"
    assert scene.release(60) == []
    scene.settle(probe, Outcome.TIMEOUT)
    assert (scene.release(), host.circuit(scene.now_s)) == ([], "open")
    (probe,) = scene.release(60)
    scene.settle(probe)
    assert host.circuit(scene.now_s) == "closed"
    assert len(scene.release()) == 4
