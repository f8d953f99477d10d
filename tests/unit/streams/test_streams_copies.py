"""Copies of texts within a crawl, and pages that only say that they are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stream_pages import NOW, page

from schemas.records import Document
from schemas.url import url_id
from streams.clean import clean
from streams.copies import NEAR_BITS, Copies, Copy
from streams.errorpages import mark
from streams.fingerprint import distance

SENTENCES = [f"Sentence number {number} says that {number * 7} things are as they are." for number in range(60)]


def document(path: str, sentences: list[str], crawl: str = "c") -> Document:
    """A page with these sentences, each a paragraph."""
    body = "".join(f"<p>{each}</p>" for each in sentences).encode()
    made = clean(page(body), "odradek", obey=True, now=NOW).document
    url = f"http://h.test/{path}"
    return made.model_copy(update={"url": url, "url_id": url_id(url), "crawl": crawl})


def test_the_second_page_with_a_text_is_a_copy_of_the_first() -> None:
    """In the same crawl, of whatever host; a page is never a copy of itself, nor of another crawl's."""
    copies = Copies(100)
    assert copies.find(document("a", SENTENCES)) is None
    assert copies.find(document("a", SENTENCES)) is None
    assert copies.find(document("b", SENTENCES)) == Copy("http://h.test/a", 0)
    assert copies.find(document("c", SENTENCES)) == Copy("http://h.test/a", 0)
    assert copies.find(document("b", SENTENCES, crawl="other")) is None


def test_a_page_with_a_few_changes_is_a_near_copy() -> None:
    """One sentence of sixty is another; a page that shares a third is none, and short texts are no copies."""
    copies = Copies(100)
    first = document("a", SENTENCES)
    assert copies.find(first) is None
    near = document("b", [*SENTENCES[:30], "This one is new to all.", *SENTENCES[31:]])
    bits = distance(first.simhash, near.simhash)
    assert 0 < bits <= NEAR_BITS
    assert copies.find(near) == Copy("http://h.test/a", bits)
    assert copies.find(document("c", SENTENCES[:20] + [f"Other text {number}." for number in range(40)])) is None
    for path in ("x", "y"):
        assert copies.find(document(path, ["Only a few words here."])) is None


def test_what_is_remembered_is_bounded() -> None:
    """The texts of the last pages are known, those of long ago are not; with no room for any nothing is marked."""
    copies = Copies(10)
    for number in range(40):
        assert copies.find(document(str(number), [f"{number} {each}" for each in SENTENCES])) is None
    assert copies.find(document("x", [f"39 {each}" for each in SENTENCES])) == Copy("http://h.test/39", 0)
    assert copies.find(document("y", [f"0 {each}" for each in SENTENCES])) is None
    none = Copies(0)
    for path in ("a", "b"):
        assert none.find(document(path, SENTENCES)) is None


@given(st.integers(-(2**63), 2**63 - 1), st.sets(st.integers(0, 63), max_size=4))
def test_four_bits_are_always_found(simhash: int, flipped: set[int]) -> None:
    """Whichever they are."""
    other = simhash
    for bit in flipped:
        other ^= 1 << bit
    other = (other + 2**63) % 2**64 - 2**63
    copies = Copies(10)
    first, second = document("a", SENTENCES), document("b", SENTENCES[1:])
    assert copies.find(first.model_copy(update={"simhash": simhash})) is None
    assert copies.find(second.model_copy(update={"simhash": other})) == Copy("http://h.test/a", len(flipped))


@pytest.mark.parametrize(
    ("title", "text", "visible", "said"),
    [
        ("Page not found", "Sorry.", "", "soft_404"),
        (None, "404\nTry the start page.", "", "soft_404"),
        ("Just a moment...", "Enable JavaScript and cookies to continue", "", "blocked_page"),
        ("Access Denied", "You don't have permission.", "", "blocked_page"),
        ("shop.example", "Verify you are human by completing the action below.", "", "blocked_page"),
        ("Sign in to continue", "", "", "blocked_page"),
        ("502 Bad Gateway", "nginx", "", "error_page"),
        (None, "Error establishing a database connection", "", "error_page"),
        ("Shop", "Down for maintenance\nBack soon.", "", "error_page"),
        ("React App", "", "You need to enable JavaScript to run this app.", "needs_javascript"),
        ("Shop", "This site requires JavaScript.", "", "needs_javascript"),
        ("How to enable JavaScript", "Word " * 400, "", None),
        ("A page", "It works without JavaScript " + "and says a lot. " * 30, "", None),
        ("Something went wrong", "Word " * 400, "", None),
        ("Forbidden fruit", "An apple.", "", None),
        ("Room 5020", "Free.", "", None),
        ("My login story", "I logged in.", "", None),
        (None, "", "", None),
    ],
)
def test_a_page_that_is_none_says_so(title: str | None, text: str, visible: str, said: str | None) -> None:
    """Missing, forbidden, broken, or nothing without scripts: short, and in its title or first line."""
    assert mark(title, text, visible) == said


def test_marks_stand_in_the_document() -> None:
    """Of pages with status 200 alone, as one flag."""
    shell = page(b"<title>App</title><div id=root></div><noscript>Please enable JavaScript.</noscript>")
    assert clean(shell, "odradek", obey=True, now=NOW).document.flags == ["needs_javascript"]
    other = shell.model_copy(update={"status": 203})
    assert clean(other, "odradek", obey=True, now=NOW).document.flags == []


def test_headings_and_anchors_do_not_fill_the_record() -> None:
    """A page of nothing but headings and links: what is told twice is bounded, the text is whole."""
    headings = "".join(f"<h2>{number} {'word ' * 5_000}</h2>" for number in range(100))
    links = "".join(f"<a href=/{number}>{'a' * 200}</a>" for number in range(5_000))
    found = clean(page(f"{headings}{links}".encode()), "odradek", obey=True, now=NOW).document
    assert sum(map(len, found.headings)) <= 2**16
    assert sum(map(len, found.anchors)) <= 2**18
    assert len(found.anchors) == len(found.links) == 5_000
    assert found.text.count("word") == 500_000


def test_markdown_is_of_the_main_text_and_can_be_left_out() -> None:
    """What does not fit beside the text is left out with a mark."""
    body = b"<h2>One</h2><p>" + b"A sentence of many words stands here. " * 4 + b"</p><ul><li>a b</ul>"
    assert clean(page(body), "odradek", obey=True, now=NOW).document.markdown.startswith("## One\n\nA sentence of")
    large = clean(page(b"<p>" + b"word " * 1_000_000), "odradek", obey=True, now=NOW).document
    assert (large.markdown, large.flags) == ("", ["markdown_left_out"])
