"""What the auditor of politeness finds, and what it does not."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from frontier_scene import fetch_of
from hypothesis import given
from hypothesis import strategies as st

from frontier.audit import Audit, Limits
from frontier.robots import rules
from schemas.outcomes import Outcome
from schemas.records import Crawl, Fetch, Kind

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
OPEN = rules("", 0.0).version
TEXT = b"User-agent: *\nDisallow: /private\nCrawl-delay: 2\n"
VERSION = rules(TEXT.decode(), 0.0).version


def limits(per_host: int = 1, tolerance: timedelta = timedelta(0)) -> Limits:
    """The defaults."""
    return Limits(per_host, "odradek", timedelta(minutes=1), timedelta(hours=1), tolerance)


def at(start_s: float, **fields: object) -> Fetch:
    """A fetch that takes a tenth of a second, its first byte coming half way."""
    usual: dict[str, object] = {
        "fetch_id": f"{start_s}",
        "started_at": BEGAN + timedelta(seconds=start_s),
        "total_ms": 100.0,
        "first_byte_ms": 50.0,
        "delay_ms": 1_000,
        "robots": OPEN,
    }
    return fetch_of(**(usual | fields))  # type: ignore[arg-type]  # the model judges them


def audit(*fetches: Fetch, promised: Limits | None = None, follow_robots: bool = True) -> Audit:
    """What is found of these."""
    crawl = Crawl(name="c", created_at=BEGAN, follow_robots=follow_robots)
    read = fetch_of(kind=Kind.ROBOTS, outcome=Outcome.OK, body=TEXT, robots=VERSION)
    found = Audit(promised or limits(), lambda _name: crawl, {VERSION: read})
    for fetch in fetches:
        found.add(fetch)
    return found


def violations(found: Audit) -> list[str]:
    """Their names, in order."""
    return [each.violation for each in found.findings]


def test_a_polite_host_has_no_finding() -> None:
    """A request that begins a delay after the first byte of the one before is polite; the gap is reported."""
    found = audit(at(0), at(1.05), at(2.2))
    assert violations(found) == []
    assert found.hosts["a.test"].shortest_gap_s == pytest.approx(1.0)
    assert (found.hosts["a.test"].requests, found.hosts["a.test"].most_at_once) == (3, 1)


def test_a_gap_is_counted_from_the_first_byte() -> None:
    """A millisecond less than the delay since the server answered is too soon."""
    assert violations(audit(at(0), at(1.049))) == ["too_soon"]


def test_where_no_byte_came_the_gap_is_counted_from_the_end() -> None:
    """A server may have seen a request as late as its end, when nothing tells more."""
    silent = at(0, outcome=Outcome.TIMEOUT, first_byte_ms=None, total_ms=5_000.0)
    assert violations(audit(silent, at(5.5))) == ["too_soon"]
    assert violations(audit(silent, at(6.0))) == []


def test_two_at_a_time_are_found_whatever_their_order() -> None:
    """Requests that overlap are too many at once, and too soon; so they are when the later one is read first."""
    first, second = at(0, total_ms=3_000.0), at(1.5)
    assert set(violations(audit(first, second))) == set(violations(audit(second, first))) == {"too_many_at_once"}
    at_once = audit(at(0, total_ms=3_000.0, first_byte_ms=2_500.0), at(1.5))
    assert set(violations(at_once)) == {"too_many_at_once", "too_soon"}


def test_an_owner_may_allow_more_at_a_time() -> None:
    """With two allowed, two are fine when their beginnings are a delay apart, and three are not."""
    pair = [at(0, total_ms=9_000.0), at(1, total_ms=9_000.0)]
    assert violations(audit(*pair, promised=limits(2))) == []
    assert violations(audit(*pair, at(2), promised=limits(2))) == ["too_many_at_once"]


def test_clocks_may_differ_by_the_tolerance() -> None:
    """What two fetchers' clocks may differ by is no violation, and a bit more is."""
    tolerant = limits(tolerance=timedelta(milliseconds=10))
    assert violations(audit(at(0), at(1.041), promised=tolerant)) == []
    assert violations(audit(at(0), at(1.039), promised=tolerant)) == ["too_soon"]


def test_hosts_are_judged_apart() -> None:
    """Another host's request has nothing to do with it."""
    assert violations(audit(at(0), at(0.01, host="b.test", url="http://b.test/"))) == []


def test_retry_after_is_a_promise() -> None:
    """After a 429 with Retry-After the host is left alone for that long; nonsense asks for nothing."""
    told = at(0, outcome=Outcome.RATE_LIMITED, retry_after="30")
    assert violations(audit(told, at(29))) == ["before_retry_after"]
    assert violations(audit(told, at(30.2))) == []
    assert violations(audit(at(0, outcome=Outcome.RATE_LIMITED, retry_after="soon"), at(1.5))) == []


def test_a_page_names_the_rules_that_allow_it() -> None:
    """No robots.txt, an unknown one, one that forbids and one that asks for more time are each found."""
    assert violations(audit(at(0, robots=None))) == ["no_robots"]
    assert violations(audit(at(0, robots="0000"))) == ["unknown_robots"]
    private = at(0, robots=VERSION, delay_ms=2_000, url="http://a.test/private/x")
    assert violations(audit(private)) == ["robots_denied"]
    assert violations(audit(at(0, robots=VERSION, delay_ms=1_000))) == ["crawl_delay"]
    assert violations(audit(at(0, robots=VERSION, delay_ms=2_000))) == []


def test_a_crawl_that_follows_no_robots_needs_none() -> None:
    """Where the owner was asked, no robots.txt is missed; one for the robots.txt itself needs none either."""
    assert violations(audit(at(0, robots=None), follow_robots=False)) == []
    assert violations(audit(at(0, robots=None, kind=Kind.ROBOTS))) == []


def test_a_record_that_came_twice_counts_once() -> None:
    """A replay of the topic makes no violation out of one fetch."""
    found = audit(at(0), at(0))
    assert (violations(found), found.fetches) == ([], 1)


def test_records_without_a_delay_are_not_judged() -> None:
    """What does not say which delay was in force is counted apart, and overlaps are found all the same."""
    found = audit(at(0, delay_ms=None), at(0.5, delay_ms=None), at(0.51, delay_ms=None))
    assert found.unjudged == 3
    assert violations(found) == ["too_many_at_once"]


@given(st.lists(st.tuples(st.floats(0.0, 5.0), st.integers(1, 5_000), st.integers(0, 5_000)), min_size=2, max_size=80))
def test_schedules_are_told_apart(steps: list[tuple[float, int, int]]) -> None:
    """Any schedule that keeps the delay passes; the same with one request moved into another's delay does not."""
    fetches: list[Fetch] = []
    now_s = 0.0
    for number, (spare_s, total_ms, delay_ms) in enumerate(steps):
        now_s += delay_ms / 1000 + spare_s
        fetches.append(at(now_s, fetch_id=str(number), total_ms=total_ms, first_byte_ms=None, delay_ms=delay_ms))
        now_s += total_ms / 1000
    # Times are kept in microseconds: what rounding takes is no violation.
    exact = limits(tolerance=timedelta(microseconds=20))
    assert violations(audit(*fetches, promised=exact)) == []
    before, after = next(pairwise(fetches))
    early = after.model_copy(update={"started_at": before.started_at, "fetch_id": "early"})
    assert violations(audit(before, early, promised=exact))
