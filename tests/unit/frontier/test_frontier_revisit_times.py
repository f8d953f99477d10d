"""The time to the next visit: arithmetic on what the visits before have found."""

from datetime import timedelta

import pytest
from frontier_scene import fetch_of
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from frontier.revisit import Past, due_s, visited
from infra.settings import RevisitSettings
from schemas.outcomes import Outcome

NOW_S = 1_790_000_000.0
DAY_S, HOUR_S = 86_400.0, 3_600.0
SETTINGS = RevisitSettings()


@given(st.integers(1, 10**9), st.lists(st.sampled_from([True, False, None]), min_size=40, max_size=60))
def test_the_time_stays_within_bounds_and_moves_as_it_should(interval_s: int, changes: list[bool | None]) -> None:
    """Whatever is observed: shorter after a change, longer after none, the same where nobody knows."""
    past = Past(0, interval_s, "00", None, None)
    least_s, most_s = SETTINGS.shortest.total_seconds(), SETTINGS.longest.total_seconds()
    for changed in changes:
        body = None if changed is None else b"\1" if (past.body == "00") is changed else b"\0"
        now = visited(past._replace(body=past.body or "00"), fetch_of(body_hash=body), 1.0, SETTINGS)
        assert least_s <= now.interval_s <= most_s
        if least_s < past.interval_s < most_s and changed is not None and past.body is not None:
            assert (now.interval_s < past.interval_s) is changed
        past = now
    assert due_s(past, 10.0, 0.0) == 10.0 + past.interval_s
    assert due_s(past, 10.0, 0.999) <= 10.0 + 1.1 * past.interval_s


@pytest.mark.parametrize(("changes", "bound"), [(True, SETTINGS.shortest), (False, SETTINGS.longest)])
def test_the_bounds_are_reached(changes: bool, bound: timedelta) -> None:
    """By a page that always changes, and by one that never does."""
    past = visited(None, fetch_of(body_hash=b"\0"), 0.0, SETTINGS)
    for number in range(30):
        past = visited(past, fetch_of(body_hash=bytes([number % 2 if changes else 0])), 0.0, SETTINGS)
    assert past.interval_s == bound.total_seconds()


def test_a_page_that_changes_every_so_often_is_visited_about_as_often() -> None:
    """Simulated: of 200 changes, one each two days, most are seen, at no more than three visits for a change."""
    now_s, past, seen, visits = 0.0, None, set[int](), 0
    while now_s < 400 * DAY_S:
        version = int(now_s // (2 * DAY_S))
        past = visited(past, fetch_of(body_hash=version.to_bytes(2, "big")), now_s, SETTINGS)
        seen.add(version)
        visits += 1
        now_s = due_s(past, now_s, 0.5)
    assert len(seen) > 120
    assert visits < 600


def test_the_first_time_is_a_tenth_of_the_age() -> None:
    """As caches guess it (RFC 9111, 4.2.2); nonsense is no date, and the future the shortest time."""

    def first_s(modified: str | None) -> float:
        return visited(None, fetch_of(last_modified=modified), NOW_S, SETTINGS).interval_s

    assert first_s("Fri, 11 Sep 2026 13:33:20 GMT") == pytest.approx(DAY_S, rel=0.1)
    assert first_s("Mon, 01 Jan 2001 00:00:00 GMT") == 30 * DAY_S
    assert first_s("Mon, 01 Jan 2035 00:00:00 GMT") == HOUR_S
    assert first_s("yesterday") == first_s(None) == first_s("Mon, 99 Foo 99999 00:00:00") == DAY_S


def test_what_was_not_modified_keeps_its_body() -> None:
    """So the next whole answer is compared with the last one."""
    past = visited(None, fetch_of(body_hash=b"1"), 0.0, SETTINGS)
    past = visited(past, fetch_of(outcome=Outcome.NOT_MODIFIED), 1.0, SETTINGS)
    assert past.body == b"1".hex()
    assert visited(past, fetch_of(body_hash=b"1"), 2.0, SETTINGS).interval_s > past.interval_s
    assert visited(past, fetch_of(body_hash=b"2"), 2.0, SETTINGS).interval_s < past.interval_s


def test_bounds_that_are_none_are_refused() -> None:
    """Shortest, first and longest in this order."""
    with pytest.raises(ValidationError):
        RevisitSettings(shortest=timedelta(days=2))
