"""What robots.txt means: the standard's cases, and the bugs that others had."""

import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from frontier_scene import Scene
from hypothesis import given
from hypothesis import strategies as st

from frontier.robots import Rules, Wait, allows, crawl_delay, rules, unpack, verdict
from infra.kafka.topics import TopicName, all_topics
from schemas.outcomes import CONSEQUENCES, HostEffect, Outcome
from schemas.records import Cut, Fetch, Kind
from schemas.robots import ALLOW_ALL, MAX_BYTES, text_of

MINUTE = timedelta(minutes=1)
NO_TOKEN = ("Foo Bar", "http://foo.bar/x/y")
"""Asked with a name that holds a space, which our settings do not allow as a robots token: protego finds the token
in it, as in a whole User-Agent header; the reference parser takes it for another name."""


def read(body: bytes) -> Rules:
    """The rules of a body."""
    return rules(text_of(body), 0.0)


def allowed(body: bytes, path: str, token: str = "odradek") -> bool:
    """Whether a body allows a path."""
    return allows(read(body), f"http://h.test{path}", token)


def fetched(outcome: Outcome, body: bytes | None = None, cut: Cut | None = None) -> Fetch:
    """A result of fetching a robots.txt."""
    return Fetch(
        fetch_id="f",
        crawl="c",
        url="http://h.test/robots.txt",
        url_id=b"",
        host="h.test",
        kind=Kind.ROBOTS,
        lease="l",
        visit=0,
        attempt=0,
        depth=0,
        hops=0,
        parent=None,
        outcome=outcome,
        status=None,
        error=None,
        started_at=datetime.now(UTC),
        dns_ms=None,
        connect_ms=None,
        first_byte_ms=None,
        total_ms=1.0,
        body_bytes=0,
        cut=cut,
        content_type=None,
        redirect_to=None,
        retry_after=None,
        etag=None,
        last_modified=None,
        remote_address=None,
        robots=None,
        worker="w",
        body=body,
    )


def test_the_standards_cases_hold(cases: Path) -> None:
    """Every case of the standard's reference parser gives its answer."""
    wrong = []
    for line in (cases / "google_robotstxt.jsonl").read_text().splitlines():
        case = json.loads(line)
        asked = case["input"]
        if (asked["agent"], asked["url"]) == NO_TOKEN:
            continue
        text = text_of(base64.b64decode(asked["robots_txt_b64"]))
        if allows(rules(text, 0.0), asked["url"], asked["agent"]) != case["expected"]["allowed"]:
            wrong.append((text, asked["agent"], asked["url"], case["source"]))
    assert wrong == []


def test_a_byte_order_mark_hides_no_rule() -> None:
    """The first line counts also behind a mark, in UTF-8 and in UTF-16."""
    text = "User-agent: *\nDisallow: /\n"
    assert not allowed(b"\xef\xbb\xbf" + text.encode(), "/x")
    assert not allowed(b"\xff\xfe" + text.encode("utf-16-le"), "/x")
    assert not allowed(b"\xfe\xff" + text.encode("utf-16-be"), "/x")


@pytest.mark.parametrize("outcome", [each for each in Outcome if each is not Outcome.OK])
def test_what_is_no_answer_is_no_permission(outcome: Outcome) -> None:
    """Only a refusal by the client's fault (4xx) or a file of another kind means that there are no rules."""
    found = verdict(fetched(outcome, b"<html>busy"), 0.0)
    open_ones = {Outcome.CLIENT_ERROR, Outcome.SKIPPED}
    assert isinstance(found, Rules if outcome in open_ones else Wait)
    if CONSEQUENCES[outcome].host is not HostEffect.NONE:
        assert isinstance(found, Wait)


def test_rules_before_any_user_agent_count_for_nobody() -> None:
    """They are skipped, and what follows holds."""
    body = b"Disallow: /x\nUser-agent: *\nDisallow: /y\n"
    assert allowed(body, "/x")
    assert not allowed(body, "/y")


def test_html_holds_no_rules() -> None:
    """An error page in the place of the file allows everything and raises nothing."""
    assert text_of(b"<!doctype html><p>User-agent: *\nDisallow: /") == ALLOW_ALL
    assert text_of(b"\n  <html>") == ALLOW_ALL


def test_a_typo_of_disallow_is_understood() -> None:
    """Doubt goes to the owner of the site."""
    assert not allowed(b"User-agent: *\nDisalow: /x\n", "/x")


def test_a_lone_carriage_return_ends_a_line() -> None:
    """Old line ends work as well."""
    assert not allowed(b"User-agent: *\rDisallow: /\r", "/")


def test_a_value_of_a_user_agent_ends_at_its_first_space() -> None:
    """``Foo bar`` names Foo (RFC 9309, 2.2.1: a product token holds no space)."""
    assert not allowed(b"User-agent: odradek and friends\nDisallow: /\n", "/")
    assert not allowed(b"User-agent: Odradek/1.0\nDisallow: /\n", "/")
    assert not allowed(b"User-agent:\todradek # us\nDisallow: /\n", "/")


def test_a_group_for_a_longer_name_is_not_for_us() -> None:
    """Neither the beginning nor the end of a name is the name."""
    assert allowed(b"User-agent: odradekbot\nDisallow: /\n", "/")
    assert allowed(b"User-agent: my-odradek\nDisallow: /\n", "/")


def test_megabytes_are_cut() -> None:
    """The first 500 KiB are read, and a line of megabytes is cut to what no URL of ours is longer than."""
    assert allowed(b"User-agent: *\nDisallow: /" + b"x" * 10_000_000, "/" + "x" * 1_900)
    assert len(read(b"User-agent: *\nDisallow: /" + b"x" * 10_000_000).text) < 10_000
    body = b"User-agent: *\n" + b"#" * MAX_BYTES + b"\nDisallow: /\n"
    assert allowed(body, "/x")


@pytest.mark.timeout(20)
def test_a_pattern_full_of_stars_costs_no_more_than_its_length() -> None:
    """Matching is linear in the input: what backtracks would take years here."""
    body = b"User-agent: *\nDisallow: /" + b"*a" * 500 + b"*b$\n"
    assert allowed(body, "/" + "a" * 1_900)
    assert not allowed(body, "/" + "a" * 1_900 + "b")


@given(st.binary(max_size=300))
def test_no_body_raises(body: bytes) -> None:
    """Whatever a server sends is read, kept and asked."""
    found = read(body)
    assert unpack(found.pack()) == found
    allows(found, "http://h.test/x?y", "odradek")
    assert crawl_delay(found, "odradek", MINUTE) <= MINUTE


@pytest.mark.parametrize("body", [b"\xff" * MAX_BYTES, b"\x01" * MAX_BYTES, "\u4e2d".encode("utf-16") * MAX_BYTES])
def test_any_file_fits_into_the_changelog(body: bytes) -> None:
    """Whatever its bytes are, a robots.txt of the greatest length is within the limit of its record."""
    lines = b"\n".join(body[place : place + 4_000] for place in range(0, MAX_BYTES, 4_000))
    assert len(read(lines).pack()) < all_topics()[TopicName.FRONTIER_STATE].max_record_bytes - 1_000


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("5", 5), ("0.5", 0.5), ("1e9", 60), ("nan", 0), ("inf", 0), ("-3", 0), ("soon", 0), ("", 0)],
)
def test_a_crawl_delay_is_kept_within_reason(value: str, seconds: float) -> None:
    """Seconds are taken up to the longest; nonsense asks for nothing."""
    body = f"User-agent: *\nCrawl-delay: {value}\nDisallow: /x\n".encode()
    assert crawl_delay(read(body), "odradek", MINUTE) == timedelta(seconds=seconds)


@pytest.mark.parametrize("cut", list(Cut))
def test_a_file_that_broke_off_is_no_permission(cut: Cut) -> None:
    """What is missing may be what forbids; only a file cut at the length that has to be read is read."""
    found = verdict(fetched(Outcome.OK, b"User-agent: *\n", cut=cut), 0.0)
    assert isinstance(found, Rules if cut is Cut.LENGTH else Wait)


def test_a_file_that_breaks_off_is_asked_for_again() -> None:
    """It is waited for as for a server error; nothing is fetched meanwhile."""
    scene = Scene()
    scene.define("c", follow_robots=True)
    scene.admit("http://h.test/1")
    [first] = scene.release()
    scene.settle(first, Outcome.OK, body=b"User-agent: *\n", cut=Cut.DISCONNECT)
    [again] = scene.release(10.0)
    assert again.kind is Kind.ROBOTS
    scene.settle(again, Outcome.OK, body=b"User-agent: *\nDisallow: /1\n")
    assert scene.release(10.0) == []
    assert [decision.reason for decision in scene.decisions] == ["robots_denied"]
