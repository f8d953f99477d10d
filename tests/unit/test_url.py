"""URL identity."""

from hypothesis import given
from hypothesis import strategies as st

from schemas.url import InvalidUrl, canonicalize


@given(st.text(max_size=60))
def test_the_canonical_form_is_idempotent(text: str) -> None:
    """Canonicalizing a canonical URL changes nothing."""
    try:
        once = canonicalize("http://h.test/" + text)
    except InvalidUrl:
        return
    assert canonicalize(once.href) == once
