"""The frontier's small decisions: robots.txt, waiting, bytes."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontier.backoff import backoff, retry_after
from frontier.entry import Entry, fingerprint
from frontier.entry import unpack as unpack_entry
from frontier.outbox import Bundle, pack, unpack
from frontier.robots import allows, crawl_delay, rules
from infra.kafka.producer import Outbound
from infra.kafka.topics import TopicName
from infra.settings import FrontierSettings
from schemas.robots import MAX_BYTES, text_of

LONGEST = timedelta(hours=1)


def allowed(body: bytes, url: str, agent: str = "FooBot") -> bool:
    """Whether a robots.txt of these bytes allows the URL."""
    return allows(rules(text_of(body), 0.0), url, agent)


@pytest.mark.parametrize(
    ("body", "path", "right"),
    [
        (b"\xef\xbb\xbfUser-agent: *\nDisallow: /\n", "/x", False),
        (b"Disallow: /x\nUser-agent: *\nDisallow: /y\n", "/x", True),
        (b"Disallow: /x\nUser-agent: *\nDisallow: /y\n", "/y", False),
        (b"<!doctype html><p>User-agent: *\nDisallow: /\n", "/x", True),
        (b"User-agent: *\rDisallow: /\r", "/x", False),
        ("User-agent: *\nDisallow: /\n".encode("utf-16"), "/x", False),
        (b"User-agent: *\nDisallow: /\n" + b"a" * 10_000_000, "/x", False),
        (b"a" * MAX_BYTES + b"\nUser-agent: *\nDisallow: /\n", "/x", True),
        (b"\xff\xfe\x00\x00garbage\x80", "/x", True),
        (b"User-agent: *\nDisallow: /a*b*c*d*e*f*g*h*$\n", "/" + "a" * 1_900, True),
        (b"", "/x", True),
    ],
)
def test_odd_robots_txt(body: bytes, path: str, right: bool) -> None:
    """Byte order marks, rules before any agent, HTML, CR line ends, UTF-16, megabytes and garbage are read right."""
    assert allowed(body, f"http://h.test{path}") is right


@given(st.binary(max_size=300))
def test_any_robots_txt_is_read(body: bytes) -> None:
    """Whatever the bytes, there is an answer, and a delay between nothing and the longest."""
    read = rules(text_of(b"User-agent: *\n" + body), 0.0)
    assert allows(read, "http://h.test/x", "odradek") in (True, False)
    assert timedelta(0) <= crawl_delay(read, "odradek", LONGEST) <= LONGEST


@pytest.mark.parametrize("value", ["-1", "nan", "1e308", "inf", "abc", "0"])
def test_a_nonsense_crawl_delay_asks_for_nothing_or_the_longest(value: str) -> None:
    """Only a positive number is a delay, and never more than the longest."""
    read = rules(f"User-agent: *\nCrawl-delay: {value}\n", 0.0)
    assert crawl_delay(read, "odradek", LONGEST) in (timedelta(0), LONGEST)


@pytest.mark.parametrize(
    ("value", "right"),
    [
        ("120", timedelta(seconds=120)),
        (" 5 ", timedelta(seconds=5)),
        ("0", timedelta(0)),
        ("999999999", LONGEST),
        ("9" * 400, None),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        (None, None),
        ("٣", None),
    ],
)
def test_retry_after(value: str | None, right: timedelta | None) -> None:
    """Seconds are honoured up to the longest; anything else asks for nothing (RFC 9110, 10.2.3)."""
    found = retry_after(value, 0.0, LONGEST)
    assert found == right or (right is None and found in (None, LONGEST))


def test_retry_after_as_a_date() -> None:
    """A date counts from now; one that has passed asks for nothing."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    later = format_datetime(now + timedelta(seconds=90), usegmt=True)
    assert retry_after(later, now.timestamp(), LONGEST) == timedelta(seconds=90)
    assert retry_after(later, now.timestamp() + 1_000, LONGEST) is None


@given(st.integers(1, 200), st.floats(0, 1, exclude_max=True))
def test_backoff_grows_to_its_limit_and_is_never_shorter_than_nominal(failures: int, dice: float) -> None:
    """The wait is at least the nominal one, at most a quarter more, and bounded."""
    settings = FrontierSettings()
    nominal = min(settings.backoff_shortest * 2.0 ** min(failures - 1, 20), settings.backoff_longest)
    assert nominal <= backoff(failures, settings, dice) <= nominal * 1.25


RECORDS = st.lists(
    st.builds(
        Outbound,
        st.sampled_from(TopicName),
        st.none() | st.binary(max_size=20),
        st.none() | st.binary(max_size=50),
        st.lists(st.tuples(st.text(max_size=5), st.binary(max_size=9)), max_size=3),
        st.integers(-1, 99),
    ),
    max_size=4,
)


@given(RECORDS, RECORDS)
def test_a_bundle_survives_the_store(changes: list[Outbound], rest: list[Outbound]) -> None:
    """Unpacking what was packed gives the same records."""
    assert unpack(pack(Bundle(changes, rest))) == Bundle(changes, rest)


@given(st.text(max_size=50), st.none() | st.text(max_size=20), st.floats(0, 1e12), st.integers(0, 99))
def test_an_entry_survives_the_store(url: str, parent: str | None, due_s: float, depth: int) -> None:
    """Unpacking what was packed gives the same entry."""
    entry = Entry(fingerprint("c", url), "c", url, "h.test", depth, 0, parent, 0, 1, due_s, None)
    assert unpack_entry(entry.fingerprint, entry.pack()) == entry
