"""Where a redirect leads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fetchers.location import redirect_target
from schemas.url import InvalidUrl, canonicalize

BASE = "http://h.test/a/b?c"


@pytest.mark.parametrize(
    ("location", "target"),
    [
        (b"/caf\xe9", "http://h.test/caf%E9"),
        (b"/caf\xc3\xa9", "http://h.test/caf%C3%A9"),
        (b"//o.test/x", "http://o.test/x"),
        (b"?d", "http://h.test/a/b?d"),
        (b" /x ", "http://h.test/x"),
        (b"https://o.test", "https://o.test/"),
        (b"http://u:p@o.test/", "http://o.test/"),
        (b"/x#frag", "http://h.test/x"),
        ("http://bücher.test/".encode(), "http://xn--bcher-kva.test/"),
        (b"/a b", "http://h.test/a%20b"),
    ],
)
def test_a_location_is_resolved_as_a_browser_does(location: bytes, target: str) -> None:
    """Relative ones join, bytes stay bytes, user info and fragments are dropped."""
    assert redirect_target(BASE, [location]) == target


@pytest.mark.parametrize(
    "location",
    [
        b"",
        b"http://",
        b"file:///etc/passwd",
        b"javascript:1",
        b"http://a.test:99999/",
        b"http://a.test:22/",
        b"ftp://a/",
    ],
)
def test_a_location_that_names_nothing_is_an_error(location: bytes) -> None:
    """It is said so, by the one exception that the fetcher knows."""
    with pytest.raises(InvalidUrl):
        redirect_target(BASE, [location])


@given(st.binary(max_size=200))
def test_any_bytes_give_a_canonical_url_or_the_one_error(location: bytes) -> None:
    """Whatever a server sends."""
    try:
        target = redirect_target(BASE, [location])
    except InvalidUrl:
        return
    assert canonicalize(target).href == target


def test_a_redirect_to_several_places_or_none_is_an_error() -> None:
    """The same place twice is one place; two places are nobody's redirect, nor is none."""
    assert redirect_target(BASE, [b"/x", b"/x"]) == "http://h.test/x"
    for locations in ([b"/x", b"/y"], []):
        with pytest.raises(InvalidUrl):
            redirect_target(BASE, locations)
