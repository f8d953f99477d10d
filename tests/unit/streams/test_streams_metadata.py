"""What a page tells about itself: each field from the best source, and nothing that no source has."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stream_pages import NOW, cleaned, page

from schemas.records import Document
from schemas.wire import decode, encode
from streams import dates, fingerprint, markup, structured
from streams.clean import clean
from streams.srcset import candidates

PROSE = (
    "The crawler asks each host for one page at a time, and waits before it asks again. What it has read becomes a row "
    "that people can use without looking at the page, so everything that surrounds the text must have been left out. "
    "Where a page tells nothing about its author or its date, the row says nothing either. "
)


def document(head: str, body: str = f"<p>{PROSE}</p>") -> Document:
    """What the cleaner makes of a page; it survives the wire."""
    made = cleaned(f"<!doctype html><html lang=de-CH><head>{head}</head><body>{body}</body></html>".encode()).document
    assert decode(Document, encode(made)) == made
    return made


def ld(**fields: object) -> str:
    """A JSON-LD block."""
    return f'<script type="application/ld+json">{json.dumps({"@type": "NewsArticle", **fields})}</script>'


def test_json_ld_comes_before_everything() -> None:
    """With the source of every field."""
    found = document(
        ld(author=[{"name": "A. Writer"}, {"name": "B. Writer"}], datePublished="2024-11-06T23:30:00-05:00",
           publisher={"name": "The Paper"}, description="What it is about", image={"url": "/lead.jpg"})
        + '<meta name=author content=Other><meta property=og:site_name content=Other><link rel=canonical href="/c#x">'
    )  # fmt: skip
    assert (found.author, found.site_name, found.description) == (
        "A. Writer, B. Writer",
        "The Paper",
        "What it is about",
    )
    assert found.published == "2024-11-06T23:30:00-05:00"
    assert datetime.fromisoformat(found.published) == datetime(2024, 11, 7, 4, 30, tzinfo=UTC)
    assert (found.canonical, found.images) == ("http://h.test/c", ["http://h.test/lead.jpg"])
    assert found.sources["published"] == found.sources["author"] == "json-ld"
    assert (found.language, found.sources["language"]) == ("en", "text")
    assert json.loads(found.json_ld[0])["author"][1]["name"] == "B. Writer"


def test_meta_elements_follow() -> None:
    """OpenGraph, then plain names; the address of a profile is no name; a byline's "By" is no part of one."""
    found = document(
        "<meta property=article:author content=https://net.test/profile><meta name=author content='By A. Writer'>"
        "<meta property=article:published_time content=2024-02-03><meta property=article:modified_time "
        "content='Sat, 03 Feb 2024 10:00:00 +0100'><meta name=description content=' About\n it '>"
        "<meta name=og:site_name content=Site><meta property=og:image content=//cdn.test/i.png>"
    )
    assert (found.author, found.published, found.modified) == ("A. Writer", "2024-02-03", "2024-02-03T10:00:00+01:00")
    assert (found.description, found.site_name, found.images) == ("About it", "Site", ["http://cdn.test/i.png"])
    assert found.sources["modified"] == "meta article:modified_time"


def test_nothing_is_guessed() -> None:
    """A page that tells nothing has nothing; the language of a short text is the declared one."""
    found = document("<script>var exp='2099-01-31'</script>", "<p>Kurz.</p>")
    assert (found.author, found.published, found.modified, found.site_name) == (None, None, None, None)
    assert (found.description, found.canonical, found.images, found.json_ld) == (None, None, [], [])
    assert (found.language, found.sources) == ("de", {"language": "html lang"})


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2024-11-06", "2024-11-06"),
        ("2024-11-06T23:30:00Z", "2024-11-06T23:30:00+00:00"),
        ("2024-11-06 23:30:00 +0100", "2024-11-06T23:30:00+01:00"),
        ("20241106T233000Z", "2024-11-06T23:30:00+00:00"),
        ("2024-11-06T23:30", "2024-11-06T23:30:00"),
        ("Wed, 06 Nov 2024 23:30:00 GMT", "2024-11-06T23:30:00+00:00"),
        ("2099-01-31", None),
        ("2026-12-01T00:00:01Z", None),
        ("2026-12-02T00:30:00+14:00", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("9999-12-31T23:59:59-14:00", None),
        ("yesterday", None),
        ("2024-13-45", None),
        ("12:30", None),
    ],
)
def test_a_date_is_as_exact_as_it_was_and_never_in_the_future(written: str, read: str | None) -> None:
    """With the zone that the page names, or none."""
    assert dates.read(written, NOW) == read


@given(st.text(max_size=70))
def test_no_text_trips_the_dates(text: str) -> None:
    """A date or none."""
    dates.read(text, NOW)


@pytest.mark.parametrize(
    "text", ["", "{", "[[[" * 50_000, '{"a":NaN}', "null", "3", '"x"', '{"@graph":[{"@graph":7}]}', '{"@type":[1,{}]}']
)
def test_broken_data_is_left_out(text: str) -> None:
    """What is no JSON gives no block and no exception."""
    structured.read([text])
    document(f'<script type="application/ld+json">{text}</script>')


def test_half_a_character_is_replaced() -> None:
    """An escaped lone surrogate can be stored (weave#6731)."""
    found = document('<script type="application/ld+json">{"@type":"Article","author":"ok \\ud83d"}</script>')
    assert found.author == "ok \ufffd"


def test_a_page_that_says_it_is_missing_is_marked() -> None:
    """With 200, little text, and a title for it; a long text about such pages is none."""
    assert "soft_404" in document("<title>Page not found | Shop</title>", "<p>Sorry.</p>").flags
    assert "soft_404" in document("", "<h1>404</h1><p>Try the start page.</p>").flags
    assert "soft_404" in document("<title>Seite nicht gefunden</title>", "").flags
    assert "soft_404" not in document("<title>Error 404 explained</title>", f"<p>{PROSE * 9}</p>").flags
    assert "soft_404" not in document("<title>Room 4040</title>", "<p>Free.</p>").flags


def test_the_outline_and_the_figures_are_of_the_main_text() -> None:
    """Headings with their level, words, the share of links; anchors beside their links."""
    found = document("", f"<nav><a href=/n>n</a></nav><h2>One</h2><p>{PROSE}</p><h3>Two  b</h3><p>{PROSE}"
                         "<a href=/x> the\n x </a><a href=/x>again</a><a href=/y><img src=i.png></a></p>")  # fmt: skip
    assert found.headings == ["## One", "### Two b"]
    assert found.words == len(found.text.split())
    assert 0 < found.link_density < 0.1
    assert list(zip(found.links, found.anchors, strict=True)) == [
        ("http://h.test/n", "n"), ("http://h.test/x", "the x"), ("http://h.test/y", ""),
    ]  # fmt: skip
    assert found.images == ["http://h.test/dir/i.png"]


def test_frames_and_an_immediate_refresh_are_links() -> None:
    """A late one is a reload of the page (mechanize#429)."""

    def links(body: str) -> list[str]:
        return clean(page(body.encode()), "odradek", obey=True, now=NOW).document.links

    assert links("<frameset><frame src=/left><frame src=/right></frameset>") == [
        "http://h.test/left",
        "http://h.test/right",
    ]
    for content in ("0; URL=/next", "0;url='/next'", "3, /next", "1;URL='/next' x"):
        assert links(f'<meta http-equiv=Refresh content="{content}">') == ["http://h.test/next"]
    assert links('<meta http-equiv=refresh content="330;URL=/?MR=1">') == []
    assert markup.refresh("5") is None


def test_srcset_agrees_with_the_web_platform_tests(cases: Path) -> None:
    """The candidates hold the one that a browser would choose."""
    rows = [json.loads(line) for line in (cases / "wpt_srcset.jsonl").read_text().split("\n") if line]
    assert [
        row["input"] for row in rows if (url := row["expected"]["chosen_url"]) and url not in candidates(row["input"])
    ] == []


def near(sentences: list[str]) -> int:
    """The fingerprint of a text of these sentences."""
    return fingerprint.simhash(". ".join(sentences).encode())


def test_near_texts_have_near_fingerprints() -> None:
    """One sentence of forty changed moves a few bits; strangers differ in about half."""
    sentences = [f"Sentence number {n} says {n * n} things about the matter" for n in range(40)]
    one = near(sentences)
    assert one == fingerprint.simhash("\n".join(sentences).encode())
    assert fingerprint.distance(one, near([*sentences[:20], "Changed", *sentences[21:]])) <= 10
    assert fingerprint.distance(one, near([f"Other {each}" for each in sentences])) >= 16
    assert fingerprint.simhash(b"") == 0


@given(st.lists(st.sampled_from("abcdefghij"), max_size=20))
def test_a_fingerprint_is_the_majority_of_its_sentences(sentences: list[str]) -> None:
    """Bit by bit, counted the slow way."""
    hashes = [near([each]) & (2**64 - 1) for each in sentences]
    expected = sum(1 << bit for bit in range(64) if sum(each >> bit & 1 for each in hashes) > len(hashes) / 2)
    assert near(sentences) & (2**64 - 1) == expected
