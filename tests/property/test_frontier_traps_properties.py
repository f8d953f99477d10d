"""The rules against traps, for any URL."""

from hypothesis import assume, given
from hypothesis import strategies as st

from frontier.budgets import pattern
from frontier.traps import Traps
from infra.settings import TrapSettings
from schemas.url import InvalidUrl, Url, canonicalize, split

TRAPS = Traps(TrapSettings())
TOKENS = st.sampled_from(
    [
        *("/", "a", "b/", "?", "&", "=", ";", "%25", "%", "jsessionid=", "sid=", "0123456789abcdef0", "2031-07-04"),
        *("(S(", "lit3py55t21z5v55vlm25s55", "))/", "year=2031", "é", "12", "#x", "phpsessid=0123456789abcdef01&"),
    ]
)
TEXTS = st.one_of(st.text(max_size=60), st.lists(TOKENS, max_size=40).map("".join))


def canonical(text: str) -> Url:
    """A URL as the frontier gets it."""
    try:
        return canonicalize(f"http://h.test/{text}")
    except InvalidUrl:
        assume(False)
        raise


@given(text=TEXTS, year=st.integers(1970, 2200))
def test_a_url_is_judged_by_its_looks_alone(text: str, year: int) -> None:
    """Nothing raises, and the verdict on the same URL is the same."""
    url = canonical(text).href
    assert TRAPS.rule(url, year) == Traps(TrapSettings()).rule(url, year)


@given(text=TEXTS)
def test_without_its_session_a_url_is_canonical_and_stays_so(text: str) -> None:
    """It is a URL of the same host in canonical form, no longer than before, and has no session any more."""
    url = canonical(text)
    known_as = TRAPS.without_session(url.href)
    assert split(known_as).href == known_as
    assert split(known_as).host == url.host
    assert len(known_as) <= len(url.href)
    assert TRAPS.without_sessions([url.href, url.href]) == [known_as, known_as]


@given(names=st.lists(st.sampled_from("abcdefg"), min_size=1, unique=True), data=st.data())
def test_a_pattern_knows_no_order_and_no_values(names: list[str], data: st.DataObject) -> None:
    """The same path and names in any order with any values are one pattern; one name more is another."""
    values = data.draw(st.lists(st.integers(0, 99), min_size=len(names), max_size=len(names)))
    shuffled = data.draw(st.permutations(names))
    one = "&".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
    other = "&".join(f"{name}=x" for name in shuffled)
    assert pattern(f"http://h.test/p/1?{one}") == pattern(f"http://h.test/p/22?{other}")
    assert pattern(f"http://h.test/p/1?{one}&z=1") != pattern(f"http://h.test/p/1?{one}")


@given(segments=st.lists(st.sampled_from(["a", "b", "cc", "ddd"]), min_size=14, max_size=40))
def test_a_path_of_few_words_does_not_grow_for_ever(segments: list[str]) -> None:
    """However the segments are mixed: a path of more than three of each is refused."""
    assert TRAPS.rule("http://h.test/" + "/".join(segments), 2026) in ("repeated_segments", "too_many_segments")
