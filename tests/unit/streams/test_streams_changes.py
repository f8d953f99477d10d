"""What differs between two versions of a page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stream_pages import NOW, page

from schemas.records import Cut, Document
from schemas.versions import Change
from streams.changes import change, comparable, version_of
from streams.clean import clean

LINES = [f"Paragraph number {number} is long enough to be one." for number in range(8)]


def document(visit: int, text: str, **changes: object) -> Document:
    """The document of a visit."""
    made = clean(page(b"<title>T</title>"), "odradek", obey=True, now=NOW).document
    about: dict[str, object] = {"fetch_id": f"f{visit}", "visit": visit, "text": text, "content_hash": text.encode()}
    return made.model_copy(update=about | changes)


def between(former: Document, now: Document) -> Change | None:
    """What the streams would tell."""
    return change(version_of(former), version_of(now), now.host)


def test_lines_that_came_and_went_are_told() -> None:
    """Counts, samples and how much is the same; who saw both versions."""
    found = between(document(0, "\n".join(LINES)), document(3, "\n".join(["A new line.", *LINES[:6], LINES[0]])))
    assert found is not None
    assert (found.fields, found.lines_added, found.lines_removed) == (["text"], 2, 2)
    assert (found.added, found.removed) == (["A new line.", LINES[0]], LINES[6:])
    assert found.similarity == round(1 - (11 + 3 * len(LINES[0])) / (14 * len(LINES[0]) + 11 + len(LINES[0])), 4)
    assert (found.visit, found.fetch_id, found.former_visit, found.former_fetch_id) == (3, "f3", 0, "f0")


def test_fields_that_differ_are_told_with_both_values() -> None:
    """Columns, the status, and fields of rules; one that came or went has one side."""
    former = document(0, "same", title="Old", author="Ada", extracted='{"price":10,"tags":["a"]}')
    now = document(1, "same", title="New", status=203, extracted='{"price":12.5,"tags":["a"],"sku":"x"}')
    found = between(former, now)
    assert found is not None
    assert found.fields == ["author", "extracted.price", "extracted.sku", "status", "title"]
    assert found.before == {"title": "Old", "author": "Ada", "extracted.price": "10", "status": "200"}
    assert found.after == {"title": "New", "extracted.price": "12.5", "extracted.sku": "x", "status": "203"}
    assert (found.similarity, found.lines_added, found.lines_removed) == (1.0, 0, 0)


def test_what_is_no_change_is_not_told() -> None:
    """The same text and fields, a repeat of the same fetch, an older visit that is read again after a crash."""
    text = "\n".join(LINES)
    assert between(document(0, text), document(1, text, links=["http://x.test/"])) is None
    assert between(document(1, "a"), document(1, "b")) is None
    assert between(document(2, "a"), document(1, "b")) is None


def test_lines_that_only_moved_leave_the_lines_alone() -> None:
    """The text is another one, and nothing was added or removed."""
    found = between(document(0, "\n".join(LINES)), document(1, "\n".join(reversed(LINES))))
    assert found is not None
    assert (found.fields, found.lines_added, found.lines_removed, found.similarity) == (["text"], 0, 0, 1.0)


@pytest.mark.parametrize(
    ("changes", "compared"),
    [
        ({}, True),
        ({"flags": ["soft_404", "huge"]}, True),
        ({"flags": ["blocked_page"]}, False),
        ({"flags": ["huge", "cleaner_died"]}, False),
        ({"cut": Cut.DISCONNECT}, False),
    ],
)
def test_what_stands_before_a_page_is_no_version_of_it(changes: dict[str, object], compared: bool) -> None:
    """A wall, an error, half a page; a page that says it is gone is one."""
    assert comparable(document(0, "text", **changes)) is compared


def test_a_change_is_small_whatever_the_page_is() -> None:
    """A hundred thousand new lines are a number and twenty samples; values are cut."""
    former = document(0, "x" * 3_000_000, title="t" * 5_000)
    found = between(former, document(1, "\n".join(map(str, range(100_000)))))
    assert found is not None
    assert found.lines_added > 10_000
    assert (len(found.added), len(found.removed[0]), len(found.before["title"])) == (20, 300, 1_000)
    assert found.similarity == 0.0


@given(st.text(max_size=200), st.text(max_size=200))
def test_adding_and_removing_explains_the_difference(one: str, other: str) -> None:
    """What one direction adds the other removes, and the share of what is the same is the same."""
    forth, back = between(document(0, one), document(1, other)), between(document(0, other), document(1, one))
    if one == other:
        assert forth is back is None
        return
    assert forth is not None
    assert back is not None
    assert (forth.added, forth.removed) == (back.removed, back.added)
    assert forth.similarity == back.similarity
    assert 0 <= forth.similarity <= 1
