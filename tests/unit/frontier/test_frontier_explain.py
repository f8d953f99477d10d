"""What the frontier says of a URL, and why it waits."""

import asyncio
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from frontier_scene import NOW_S, Scene, robots

from frontier.explain import explain
from frontier.owned import Owned
from frontier.questions import Questions
from frontier.robots import deciding_rule, rules
from schemas.orders import Action, Order, Orders, Subject, concerns
from schemas.outcomes import Outcome

A, B = "http://a.test/1", "http://a.test/2"


def told(scene: Scene, url: str = A) -> dict[str, object]:
    """The explanation."""
    return explain(scene.partition, "c", url, scene.now_s)


def order(action: Action, subject: Subject, target: str) -> Order:
    """An order without an amount."""
    return Order(action=action, subject=subject, target=target, by="me", ordered_at=datetime.now(UTC))


def test_a_url_that_nobody_named_is_unknown_and_stays_so() -> None:
    """To ask for a URL does not make it seen, and leaves no host in memory."""
    scene = Scene()
    assert told(scene)["state"] == "unknown"
    scene.release(10)
    assert len(scene.partition.hosts()) == 0
    scene.admit(A)
    assert told(scene)["state"] == "waiting"


def test_a_life_is_followed() -> None:
    """Waiting, being fetched since when, and how it ended."""
    scene = Scene()
    scene.admit(A, B)
    [first] = scene.release()
    leased = told(scene)
    assert leased["state"] == "fetching"
    assert leased["released_at"] == datetime.fromtimestamp(NOW_S, UTC).isoformat(timespec="milliseconds")
    assert told(scene, B)["why"] == "the host is being asked: 1 at a time"
    scene.settle(first)
    assert (told(scene)["state"], told(scene)["ending"]) == ("ended", "pages")
    assert told(scene, B)["why"] == "the host's delay of 1 s runs: 1.0 s more"


def test_trouble_and_retries_are_named() -> None:
    """A host that did not answer is left alone; then what failed is tried again."""
    scene = Scene()
    scene.admit(A, B)
    [first] = scene.release()
    scene.settle(first, Outcome.TIMEOUT)
    waiting = told(scene)
    assert str(waiting["why"]).startswith("the host was in trouble 1 times in a row: 1.")
    assert waiting["entry"] == {
        "lane": "retry", "rank": 0, "depth": 0, "hops": 0, "parent": None, "visit": 0, "attempt": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (order(Action.PAUSE, Subject.CRAWL, "c"), "an operator paused its crawl or its host"),
        (order(Action.PAUSE, Subject.HOST, "a.test"), "an operator paused its crawl or its host"),
        (order(Action.BLOCK, Subject.PATTERN, "/1$"), "it will be refused in a moment: blocked"),
        (order(Action.STOP, Subject.CRAWL, "c"), "it will be refused in a moment: stopped"),
    ],
)
def test_orders_are_named(given: Order, why: str) -> None:
    """What an operator ordered comes before every other reason."""
    scene = Scene()
    scene.admit(A, B)
    scene.partition.orders = Orders([given])
    assert told(scene)["why"] == why


def test_robots_are_told_with_the_line_that_decides() -> None:
    """Which version was read when, its verdict on this URL and why."""
    scene = Scene()
    scene.define("c", follow_robots=True)
    scene.admit(A, B)
    scene.release()
    assert told(scene)["robots"] is None
    assert told(scene)["why"] == "the host's robots.txt is being fetched"
    robots(scene, "User-agent: *\nDisallow: /1\nCrawl-delay: 7\n")
    found = cast("dict[str, object]", told(scene)["robots"])
    assert (found["allowed"], found["rule"], found["crawl_delay_s"]) == (False, "Disallow: /1", 7.0)
    assert cast("dict[str, object]", told(scene, B)["robots"])["allowed"] is True


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("User-agent: *\nDisallow: /", "Disallow: /"),
        ("User-agent: *\nDisallow: /\nAllow: /page", "Allow: /page"),
        ("User-agent: *\nDisallow: /other\n", None),
        ("User-agent: other\nDisallow: /page\n\nUser-agent: *\nDisallow: /*.html # ours", "Disallow: /*.html # ours"),
        ("User-agent: *\nDisallow: /page\nDisallow: /page", None),
        ("", None),
    ],
)
def test_the_deciding_rule_is_the_one_without_which_it_were_otherwise(text: str, rule: str | None) -> None:
    """A line of another group, one that is outweighed, and one of two equal ones decide nothing."""
    assert deciding_rule(rules(text, 0.0), "http://a.test/page.html", "odradek") == rule


def test_an_order_concerns_its_crawl_host_or_pattern() -> None:
    """And nothing else."""
    about = ("c", "a.test", A)
    assert concerns(order(Action.STOP, Subject.CRAWL, "c"), *about)
    assert not concerns(order(Action.STOP, Subject.CRAWL, "d"), *about)
    assert concerns(order(Action.BLOCK, Subject.HOST, "a.test"), *about)
    assert not concerns(order(Action.BLOCK, Subject.HOST, "b.test"), *about)
    assert concerns(order(Action.BLOCK, Subject.PATTERN, r"/\d$"), *about)
    assert not concerns(order(Action.BLOCK, Subject.PATTERN, "^/1"), *about)


def test_questions_are_answered_by_the_thread_that_owns_the_partitions() -> None:
    """A partition of ours is explained; another's is answered by nothing; who went away disturbs nobody."""
    scene = Scene()
    scene.admit(A)
    owned = Owned(scene.partition, scene.memory, cast("Any", None), {}, {}, "me")

    async def ask() -> tuple[object, object]:
        questions = Questions()
        gone = asyncio.create_task(questions.explain(0, "c", A))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        asked = [asyncio.create_task(questions.explain(number, "c", A)) for number in (0, 1)]
        await asyncio.sleep(0)
        questions.answer({0: owned}, scene.now_s)
        ours, theirs = await asyncio.gather(*asked)
        return ours, theirs

    ours, theirs = asyncio.run(ask())
    assert cast("dict[str, object]", ours)["state"] == "waiting"
    assert theirs is None
