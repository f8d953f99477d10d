"""Traps: which URLs are refused by which rule, and where the endless ones end."""

import json
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest
from frontier_scene import Scene

from frontier.admission import admit
from frontier.budgets import MOST_PATTERNS, Tally, pattern, unpack
from frontier.explain import explain
from frontier.explainer import _state
from frontier.memory import Memory
from frontier.store import Store
from frontier.tallies import of_domain, of_host, step
from frontier.traps import Traps
from infra.settings import TrapSettings
from schemas.records import Links, Reason

H = "http://h.test"
YEAR = 2026
NOW_S = datetime(YEAR, 6, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        (f"{H}/" + "x" * 1_500, "too_long"),
        (f"{H}/" + "/".join(map(str, range(21))), "too_many_segments"),
        (f"{H}/a/b/a/b/a/b/a/", "repeated_segments"),
        (f"{H}/?" + "&".join(f"p{n}={n}" for n in range(21)), "too_many_parameters"),
        (f"{H}/?q=1&q=1&q=1&q=1", "repeated_parameters"),
        (f"{H}/%25252525/", "growing_escapes"),
        (f"{H}/?to=%252525252Fa", "growing_escapes"),
        (f"{H}/events/2031/01/", "calendar"),
        (f"{H}/events/1931/1/31", "calendar"),
        (f"{H}/events/2031-07-04", "calendar"),
        (f"{H}/stats?year=2029", "calendar"),
        (f"{H}/cal?month=2031-07", "calendar"),
        (f"{H}/cal?start_date=20310704", "calendar"),
        (f"{H}/cal?year=1950&month=7&day=4", "calendar"),
    ],
)
def test_each_rule_refuses_its_kind(url: str, rule: str) -> None:
    """A URL that people would not have made is refused, by name."""
    assert Traps(TrapSettings()).rule(url, YEAR) == rule


@pytest.mark.parametrize(
    "path",
    [
        *("", "a/b/c/d/e/f/g.html", "a/a/a/", "2024/05/06/", "news/1931/07/04/a-story", "2019/", "9999", "1200/13/"),
        *("stats?year=2028", "history?year=1789", "?candidate=4711", "?sku=8842-11", "?id=30451101", "?update=9999"),
        *("?tag=a&tag=b&tag=c&tag=d&tag=e", "100%25", "w?key=%252fx", "?to=https%3A%2F%2Fo.test%2F%3Fq%3D%2525"),
        *("?date=2025-02-28T12:00", "part/2840/12/index.html", "?start=2500", "?day=31", "iso/8859-1", "part/1200-12"),
    ],
)
def test_what_people_make_is_no_trap(path: str) -> None:
    """Deep, long, dated and escaped addresses of real pages pass."""
    assert Traps(TrapSettings()).rule(f"{H}/{path}", YEAR) is None


def test_zero_is_no_limit() -> None:
    """Every rule that counts can be switched off."""
    counting = ("max_chars", "max_segments", "max_repeats", "max_parameters", "max_escapes")
    traps = Traps(TrapSettings.model_validate(dict.fromkeys(counting, 0)))
    endless = f"{H}/" + "a/" * 300 + "%252525252525?" + "&".join(["q=1"] * 300)
    assert traps.rule(endless, YEAR) is None


@pytest.mark.parametrize(
    ("url", "known_as"),
    [
        (f"{H}/a;jsessionid=0123456789ABCDEF0123?x=1", f"{H}/a?x=1"),
        (f"{H}/a?PHPSESSID=0123456789abcdef0123&x=1", f"{H}/a?x=1"),
        (f"{H}/a?x=1&sid=0123456789abcdef0123", f"{H}/a?x=1"),
        (f"{H}/a?sid=0123456789abcdef0123", f"{H}/a"),
        (f"{H}/(S(lit3py55t21z5v55vlm25s55))/a", f"{H}/a"),
        (f"{H}/story?sid=4711", f"{H}/story?sid=4711"),
        (f"{H}/a?insider=0123456789abcdef0123", f"{H}/a?insider=0123456789abcdef0123"),
        (f"{H}/a?token=0123456789abcdef0123", f"{H}/a?token=0123456789abcdef0123"),
    ],
)
def test_sessions_are_taken_off(url: str, known_as: str) -> None:
    """One page is one URL, whichever session its links carry; what is no session stays."""
    assert Traps(TrapSettings()).without_session(url) == known_as
    assert Traps(TrapSettings(session_parameters=frozenset())).without_session(url) == url


def test_a_page_is_fetched_once_whatever_the_session() -> None:
    """Links with two sessions are one URL; a redirect to one with a session is followed as the server has it."""
    scene = Scene(now_s=NOW_S)
    urls = [f"{H}/a;jsessionid={session}" for session in ("0123456789abcdef01", "fedcba987654321001")]
    scene.admit(*urls)
    [request] = scene.release()
    assert request.url == f"{H}/a"
    moved = Links(crawl="c", host="h.test", reason=Reason.REDIRECT, depth=0, hops=1, urls=[urls[0]])
    with scene.step():
        admit(scene.partition, moved, None, scene.now_s)
    scene.settle(request)
    assert [each.url for each in scene.release(after_s=2)] == [urls[0]]
    assert explain(scene.partition, "c", urls[1], scene.now_s)["url"] == f"{H}/a"


def test_a_refusal_is_counted_told_and_explained() -> None:
    """By its rule: in the figures of its crawl, as a decision, and to whoever asks; also after a restore."""
    scene = Scene(now_s=NOW_S)
    url = f"{H}/a/a/a/a/"
    scene.admit(url, f"{H}/b", depth=1)
    assert [(each.reason, each.url) for each in scene.decisions] == [("repeated_segments", url)]
    assert (scene.count("refused"), scene.count("refused/repeated_segments"), scene.count("queued")) == (1, 1, 1)
    found = explain(scene.partition, "c", url, scene.now_s)
    assert (found["state"], found["reason"]) == ("ended", "repeated_segments")
    assert _state(found) == "ended: it was refused as repeated_segments"
    unknown = explain(scene.partition, "c", f"{H}/c/c/c/c/", scene.now_s)
    assert _state(unknown).endswith("as a link it would be refused as repeated_segments")
    restored = scene_from(scene.changes)
    assert restored.count("refused/repeated_segments") == 1
    assert explain(restored.partition, "c", url, scene.now_s)["reason"] == "repeated_segments"


def test_a_seed_is_no_trap() -> None:
    """Somebody asked for exactly this: it is fetched, over every rule and budget."""
    scene = Scene(now_s=NOW_S, traps=TrapSettings(host_urls=1))
    urls = [f"{H}/1", f"{H}/a/a/a/a/"]
    seeds = Links(crawl="c", host="h.test", reason=Reason.SEED, depth=0, urls=urls)
    with scene.step():
        admit(scene.partition, seeds, None, scene.now_s)
    assert (scene.count("queued"), scene.decisions) == (2, [])


def test_the_budgets_of_host_and_domain_end_what_no_rule_sees() -> None:
    """So many URLs of a host, hosts of a domain and URLs of a domain, for each crawl; they are counted, not told."""
    scene = Scene(now_s=NOW_S, traps=TrapSettings(host_urls=5, domain_hosts=3, domain_urls=12))
    for host in ("a.example.org", "b.example.org", "example.org", "c.example.org", "elsewhere.org"):
        scene.admit(*(f"http://{host}/{n}" for n in range(4)), depth=1)
        scene.admit(*(f"http://{host}/{n}" for n in range(4, 9)), depth=1)
    figures = {name: scene.count(f"refused/{name}") for name in ("host_budget", "domain_hosts", "domain_budget")}
    assert figures == {"host_budget": 4 + 4 + 4, "domain_hosts": 9, "domain_budget": 7}
    assert (scene.count("queued"), scene.decisions) == (12 + 5, [])
    found = explain(scene.partition, "c", "http://c.example.org/1", scene.now_s)
    assert (found["state"], found["reason"]) == ("ended", "domain_hosts")
    scene.admit("http://a.example.org/1", crawl="d", depth=1)
    assert scene.count("queued", "d") == 1


def test_a_pattern_has_its_budget_whatever_the_order_of_its_parameters() -> None:
    """Facets that are combined without end stop; another pattern of the host goes on."""
    scene = Scene(now_s=NOW_S, traps=TrapSettings(pattern_urls=10))
    scene.admit(*(f"{H}/list/{n}?b={n}&a={n}" for n in range(8)), *(f"{H}/list/1?a={n}&b=9" for n in range(8)), depth=1)
    scene.admit(*(f"{H}/page?id={n}" for n in range(8)), depth=1)
    assert (scene.count("refused/pattern_budget"), scene.count("queued")) == (6, 18)


def test_a_host_of_patterns_without_end_keeps_its_tally_small() -> None:
    """However many patterns there are, few are counted, none too high, and the one that is everywhere is found."""
    tally = Tally()
    for number in range(3_000):
        tally.count(str(pattern(f"{H}/?p{chr(97 + number % 26)}{chr(97 + number // 26 % 26)}=1")))
        tally.count(str(pattern(f"{H}/calendar?day={number}")))
    known = tally.patterns[str(pattern(f"{H}/calendar?day=1"))]
    assert len(tally.patterns) <= MOST_PATTERNS
    assert 3_000 - 6_000 // MOST_PATTERNS <= known <= 3_000
    assert unpack(tally.pack()) == tally


def scene_from(changes: list[tuple[bytes, bytes | None]]) -> Scene:
    """A frontier that knows the changelog alone."""
    store = Store(":memory:")
    memory = Memory(store, 0)
    store.begin()
    for key, value in {key: (key, value) for key, value in changes}.values():
        memory.apply(key, value)
    memory.forget()
    store.commit()
    scene = Scene(now_s=NOW_S)
    scene.open(store)
    return scene


def test_budgets_survive_a_new_owner_but_for_a_third() -> None:
    """Tallies are written in steps: never more than was taken, a third less at the most, no host counted twice."""
    scene = Scene(now_s=NOW_S)
    for number in range(1_000):
        scene.admit(f"{H}/{number}", depth=1)
    told = sum(key == b"b" + of_host("c", "h.test").encode() for key, _ in scene.changes)
    assert told <= 15
    restored = scene_from(scene.changes)
    for name in (of_host("c", "h.test"), of_domain("c", "h.test")):
        assert scene.memory.tallies.get(name).urls == 1_000
        assert 667 <= restored.memory.tallies.get(name).urls <= 1_000
    restored.admit(f"{H}/new", depth=1)
    assert restored.memory.tallies.get(of_domain("c", "h.test")).hosts == 1


def test_steps_are_never_far_apart() -> None:
    """From one step to the next a count grows by a half at the most, from 16 on."""
    steps = [count for count in range(1, 100_000) if step(count) != step(count - 1)]
    assert steps[:2] == [1, 16]
    assert all(after <= before * 1.5 for before, after in pairwise(steps[1:]))


def test_a_calendar_without_end_ends(cases: Path) -> None:
    """The reported one, whose every page links to the next year, stops by itself, while another host goes on."""
    rows = [json.loads(line) for line in (cases / "bugs.jsonl").read_text().splitlines()]
    [row] = [each for each in rows if each["n"] == 14]
    first, _, following = cast("str", row["input"]).partition(" links to ")
    scene = Scene(now_s=NOW_S)
    scene.admit(f"{H}{first}", "http://h.test/other")
    year = int(following[-8:-4])
    assert f"{H}{following[:-4]}" == f"{H}{first[:-4]}{year}"
    fetched = []
    for _ in range(60):
        for request in scene.release(after_s=2):
            fetched.append(request.url)
            scene.settle(request)
            if "year=" in request.url:
                scene.admit(f"{H}{first[:-4]}{year}", depth=year - YEAR + 1)
                year += 1
    assert fetched == [
        f"{H}{first}",
        f"{H}/other",
        f"{H}/stats?year=2026",
        *(f"{H}/stats?year={n}" for n in (2027, 2028)),
    ]
    assert scene.count("refused/calendar") == 1
