"""Which links belong to a crawl."""

from datetime import UTC, datetime

import pytest

from schemas.records import Crawl
from schemas.scope import broken_pattern, refusal
from schemas.url import canonicalize


def crawl(**fields: object) -> Crawl:
    """A crawl with these fields."""
    return Crawl.model_validate({"name": "c", "created_at": datetime.now(UTC), **fields})


@pytest.mark.parametrize(
    ("scope", "anchors", "target", "right"),
    [
        ("host", [], "http://a.h.test/x", None),
        ("host", [], "http://b.h.test/x", "out_of_scope"),
        ("host", ["http://b.h.test/"], "http://b.h.test/x", None),
        ("host", [], "http://a.h.test:8080/", "out_of_scope"),
        ("domain", [], "http://b.h.test/x", None),
        ("domain", [], "http://other.test/", "out_of_scope"),
        ("domain", ["http://www.other.test/"], "http://other.test/", None),
        ("prefix", ["http://a.h.test/docs/"], "http://a.h.test/docs/x", None),
        ("prefix", ["http://a.h.test/docs/"], "http://a.h.test/doc", "out_of_scope"),
        ("prefix", [], "http://a.h.test/", "out_of_scope"),
        ("any", [], "https://elsewhere.test/", None),
    ],
)
def test_scope(scope: str, anchors: list[str], target: str, right: str | None) -> None:
    """A link on a.h.test is in scope as the kind of scope says."""
    assert refusal(crawl(scope=scope, anchors=anchors), "a.h.test", canonicalize(target), 1) == right


def test_depth_and_patterns() -> None:
    """Depth is checked first; an exclude pattern refuses; where include patterns exist one has to match."""
    target = canonicalize("http://a.h.test/keep/page")
    assert refusal(crawl(max_depth=1), "a.h.test", target, 2) == "too_deep"
    assert refusal(crawl(max_depth=2), "a.h.test", target, 2) is None
    assert refusal(crawl(exclude=["/keep/"]), "a.h.test", target, 1) == "excluded"
    assert refusal(crawl(include=["/other/"]), "a.h.test", target, 1) == "not_included"
    assert refusal(crawl(include=["/other/", "page$"]), "a.h.test", target, 1) is None


def test_a_broken_pattern_is_named() -> None:
    """What is no regular expression is said before a crawl begins."""
    assert broken_pattern(["a", "b+"]) is None
    assert "'('" in str(broken_pattern(["a", "("]))
