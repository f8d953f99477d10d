"""Visits after the first: when they come, what is asked, and when they end."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from frontier_scene import Scene, fetch_of, robots

from frontier.admission import admit
from frontier.explain import explain
from frontier.memory import Memory
from frontier.rebuild import rebuild
from frontier.results import give_up
from frontier.revisit import MOST_VALIDATOR_CHARS, Past, missed, visited
from frontier.store import Store
from infra.settings import RevisitSettings
from schemas.orders import Action, Order, Orders, Subject
from schemas.outcomes import Outcome
from schemas.records import Kind, Links, Reason, Request

A, B = "http://a.test/1", "http://a.test/2"
NOW_S = 1_790_000_000.0
DAY_S, HOUR_S = 86_400.0, 3_600.0
SETTINGS = RevisitSettings()


def revisiting() -> Scene:
    """A frontier whose crawl visits pages again."""
    scene = Scene(now_s=NOW_S)
    scene.define("c", revisit=True)
    return scene


def visit(scene: Scene, outcome: Outcome = Outcome.OK, body: bytes | None = b"1", **fields: object) -> Request:
    """Wait for the next request, however long that takes, and give it its result."""
    for _ in range(1_000):
        if found := scene.release(after_s=HOUR_S):
            scene.settle(found[0], outcome, body_hash=body if outcome is Outcome.OK else None, **fields)
            return found[0]
    raise AssertionError("nothing was requested in 1,000 hours")


def hours_to_next(scene: Scene) -> int:
    """How many hours pass until the next request, which is left without a result."""
    for hours in range(1, 1_000):
        if scene.release(after_s=HOUR_S):
            return hours
    raise AssertionError("nothing was requested in 1,000 hours")


def test_off_by_default_a_page_is_visited_once() -> None:
    """Nothing waits, and the crawl comes to its end."""
    scene = Scene()
    scene.admit(A)
    scene.settle(scene.release()[0], body_hash=b"1")
    assert scene.release(after_s=400 * DAY_S) == []
    assert (scene.count("pages"), scene.count("revisits")) == (1, 0)


def test_a_page_that_changes_is_visited_sooner_and_one_that_does_not_later() -> None:
    """After a day at first; then after half of the time before, or half as much again."""
    changing, still = revisiting(), revisiting()
    for scene in (changing, still):
        scene.admit(A)
        visit(scene)
    assert visit(changing, body=b"2").visit == 1
    assert visit(still, body=b"1").visit == 1
    assert 12 <= hours_to_next(changing) <= 14
    assert 36 <= hours_to_next(still) <= 41


def test_validators_are_kept_and_sent() -> None:
    """Those of the last whole answer, also over a restart; a 304 may replace them and changes nothing else."""
    scene = revisiting()
    scene.admit(A)
    visit(scene, etag='"1"', last_modified="Mon, 01 Jan 2024 00:00:00 GMT")
    scene.open(scene.memory.store)
    second = visit(scene, Outcome.NOT_MODIFIED)
    assert (second.etag, second.last_modified) == ('"1"', "Mon, 01 Jan 2024 00:00:00 GMT")
    third = visit(scene, Outcome.NOT_MODIFIED, etag='W/"2"')
    assert third.etag == '"1"'
    fourth = visit(scene, body=b"new")
    assert (fourth.etag, fourth.last_modified) == ('W/"2"', "Mon, 01 Jan 2024 00:00:00 GMT")
    assert (visit(scene).etag, scene.requests[-1].last_modified) == (None, None)
    long = visited(None, fetch_of(etag="x" * (MOST_VALIDATOR_CHARS + 1)), 0.0, SETTINGS)
    assert long.etag is None


def test_a_page_that_is_gone_is_given_up_after_some_visits() -> None:
    """A first visit that fails is the only one; later ones are tried at longer times, three in a row."""
    scene = revisiting()
    scene.admit(A)
    visit(scene, Outcome.CLIENT_ERROR)
    assert (scene.count("errors"), scene.count("revisits")) == (1, 0)
    scene.admit(B)
    visit(scene)
    for _ in range(3):
        visit(scene, Outcome.CLIENT_ERROR)
    assert scene.release(after_s=400 * DAY_S) == []
    assert (scene.count("errors"), scene.count("pages"), scene.count("revisits")) == (2, 0, 0)
    again = missed(Past(0, 60, None, None, None, misses=1), SETTINGS)
    assert again == Past(0, 3_600, None, None, None, misses=2)
    assert visited(again, fetch_of(), 0.0, SETTINGS).misses == 0


def test_a_page_that_moved_is_not_visited_again() -> None:
    """Its target is."""
    scene = revisiting()
    scene.admit(A)
    visit(scene)
    visit(scene, Outcome.REDIRECT, redirect_to=B)
    assert [links.urls for links in scene.links] == [[B]]
    assert scene.release(after_s=400 * DAY_S) == []
    assert (scene.count("moved"), scene.count("pages")) == (1, 0)


def test_a_retry_belongs_to_its_visit_and_keeps_what_is_known() -> None:
    """A server error during the second visit is tried again with the same validators."""
    scene = revisiting()
    scene.admit(A)
    visit(scene, etag='"1"')
    failed = visit(scene, Outcome.SERVER_ERROR)
    again = visit(scene, Outcome.NOT_MODIFIED)
    assert [(each.visit, each.attempt, each.etag) for each in (failed, again)] == [(1, 0, '"1"'), (1, 1, '"1"')]
    assert visit(scene).visit == 2


def test_the_budget_counts_pages_and_not_visits() -> None:
    """A crawl of two pages visits both again and again, and no third."""
    scene = Scene()
    scene.define("c", revisit=True, max_pages=2)
    scene.admit(A, B, "http://a.test/3")
    urls = [visit(scene).url for _ in range(8)]
    assert set(urls) == {A, B}
    assert (scene.count("released"), scene.count("refused")) == (2, 1)


def test_robots_txt_is_asked_before_each_visit() -> None:
    """What it forbids by then is not visited again."""
    scene = Scene()
    scene.define("c", revisit=True, follow_robots=True)
    scene.admit(A)
    scene.release()
    robots(scene, "")
    visit(scene)
    while scene.requests[-1].kind is not Kind.ROBOTS or scene.count("pages") == 0:
        scene.release(after_s=HOUR_S)
    robots(scene, "User-agent: *\nDisallow: /\n")
    assert scene.release(after_s=HOUR_S) == []
    assert (scene.count("refused"), scene.count("pages"), scene.count("revisits")) == (1, 0, 0)


def test_trouble_of_a_host_passes_and_a_block_stays() -> None:
    """Visits that are not due survive when their host is given up, those that are have missed; a block ends all."""
    scene = revisiting()
    scene.admit(A, B)
    visit(scene, last_modified="Mon, 01 Jan 2001 00:00:00 GMT")
    visit(scene)
    scene.now_s += 2 * DAY_S
    with scene.step():
        give_up(scene.partition, scene.partition.host("a.test", scene.now_s), "host_unreachable", scene.now_s)
    assert (scene.count("revisits"), scene.decisions) == (2, [])
    assert scene.release(after_s=HOUR_S) == []
    assert visit(scene).url == B
    blocked = Order(action=Action.BLOCK, subject=Subject.HOST, target="a.test", by="me", ordered_at=datetime.now(UTC))
    with scene.step():
        scene.partition.obey(Orders([blocked]))
    assert (scene.count("revisits"), scene.count("refused")) == (0, 2)


def test_a_retry_of_a_later_visit_outlives_its_host_too() -> None:
    """It goes back to wait for the next visit."""
    scene = revisiting()
    scene.admit(A)
    visit(scene)
    visit(scene, Outcome.TIMEOUT)
    assert (scene.count("queued"), scene.count("again")) == (1, 1)
    with scene.step():
        give_up(scene.partition, scene.partition.host("a.test", scene.now_s), "host_unreachable", scene.now_s)
    assert (scene.count("queued"), scene.count("again"), scene.count("revisits")) == (0, 0, 1)
    assert visit(scene).visit == 2


def test_a_sitemap_that_tells_of_a_change_brings_the_visit_forward() -> None:
    """If the page was not had since; what nobody has visited yet, or is older, stays where it is."""
    scene = revisiting()
    scene.admit(A)
    visit(scene)
    fetched_s = int(scene.now_s)

    def told(modified_s: int) -> None:
        about = {"crawl": "c", "host": "a.test", "reason": Reason.SITEMAP, "depth": 1, "urls": [A]}
        scene.take(Links.model_validate(about | {"modified": [modified_s]}))

    told(fetched_s)
    told(fetched_s - 10)
    told(fetched_s + 10**6)
    assert scene.release(after_s=HOUR_S) == []
    told(fetched_s + 1)
    assert [(each.url, each.visit) for each in scene.release(after_s=1)] == [(A, 1)]
    told(fetched_s + 120)
    assert scene.count("leased") == 1


def test_no_sitemap_makes_visits_more_frequent_than_they_may_be() -> None:
    """However often it claims that the page has changed just now: an hour lies between two visits."""
    scene = revisiting()
    scene.admit(A)
    visit(scene)
    fetched_s = scene.now_s
    for _ in range(59):
        about = {"crawl": "c", "host": "a.test", "reason": Reason.SITEMAP, "depth": 1, "urls": [A]}
        scene.take(Links.model_validate(about | {"modified": [int(scene.now_s)]}))
        assert scene.release(after_s=60) == []
    assert len(scene.release(after_s=fetched_s + HOUR_S + 1 - scene.now_s)) == 1


@pytest.mark.parametrize("outcome", [None, Outcome.OK, Outcome.NOT_MODIFIED, Outcome.TIMEOUT, Outcome.CLIENT_ERROR])
def test_the_changelog_knows_visits(outcome: Outcome | None, tmp_path: Path) -> None:
    """Waiting for one, during one or after one: what is restored waits for the same, and counts the same."""
    scene = revisiting()
    scene.admit(A, B)
    visit(scene, etag='"1"')
    visit(scene, etag='"2"')
    if outcome is not None:
        visit(scene, outcome)
    figures = {name: count for name, count in scene.memory.counts.items() if count}
    rebuild(tmp_path / "f", 0, [scene.changes])
    restored = Memory(Store(tmp_path / "f"), 0)
    assert {name: count for name, count in restored.counts.items() if count} == figures
    one_by_one = Store(":memory:")
    memory = Memory(one_by_one, 0)
    one_by_one.begin()
    for key, value in scene.changes:
        memory.apply(key, value)
    one_by_one.commit()
    assert {name: count for name, count in memory.counts.items() if count} == figures
    for store in (restored.store, one_by_one):
        assert store.some("a.test", None, 9) == scene.memory.store.some("a.test", None, 9)


def test_a_clock_that_was_set_back_puts_visits_off_no_further_than_they_may_be() -> None:
    """Twice the longest time at the most; what else waits, an hour."""
    scene = revisiting()
    scene.admit(A)
    visit(scene)
    scene.now_s -= 1_000 * DAY_S
    scene.open(scene.memory.store)
    [waiting] = scene.memory.store.some("a.test", None, 9)
    assert waiting.due_s - scene.now_s == pytest.approx(60 * DAY_S)


def test_a_visit_to_come_is_explained() -> None:
    """It says when."""
    scene = revisiting()
    scene.admit(A)
    visit(scene)
    found = explain(scene.partition, "c", A, scene.now_s + 10)
    assert found["state"] == "waiting"
    assert str(found["why"]).startswith("it is visited again in ")


def test_sitemaps_are_read_again_too() -> None:
    """As sitemaps, and counted as such."""
    scene = revisiting()
    links = Links(crawl="c", host="a.test", reason=Reason.SEED, depth=0, urls=[A], kind=Kind.SITEMAP)
    with scene.step():
        admit(scene.partition, links, None, scene.now_s)
    assert [visit(scene).kind for _ in range(3)] == [Kind.SITEMAP] * 3
    assert (scene.count("sitemaps"), scene.count("pages"), scene.count("released")) == (1, 0, 0)
