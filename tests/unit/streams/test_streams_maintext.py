"""The main text: of an article its body, of any other page all that it has to say."""

from pathlib import Path

import pytest
from stream_pages import cleaned

from benchmarks.extraction import articles, f1, ours, score

PROSE = "Words in a row make a sentence, and this one is long enough to be taken for text."
MORE = "Another sentence follows the first one, since a paragraph alone is seldom a whole page."
NAV = "<nav><ul>" + "".join(f"<li><a href=/{n}>Section {n}</a></li>" for n in range(20)) + "</ul></nav>"


def text(body: str) -> list[str]:
    """The lines of the main text."""
    return cleaned(f"<!doctype html><title>A title - A site</title><body>{body}".encode()).document.text.split("\n")


def paragraphs(count: int) -> str:
    """That many paragraphs, all different."""
    return "".join(f"<p>{PROSE} {n}.</p>" for n in range(count))


@pytest.mark.parametrize("half", [0, 1])
def test_articles_are_found_as_people_marked_them(cases: Path, half: int) -> None:
    """F1 of shingles over each half of the public pages is no less than it was."""
    pages = articles(cases / "zyte_article_extraction.jsonl")[half::2]
    assert f1([score(ours(page.html), page.expected) for page in pages]) > 0.955


@pytest.mark.parametrize(
    "around",
    [
        NAV,
        f"<footer><p>{MORE}</p></footer>",
        f"<aside><p>{MORE}</p></aside>",
        f"<div class='related-stories'><p>{MORE}</p></div>",
        f"<div id=leftSideBar><p>{MORE}</p></div>",
        f"<section class=post-comments><p>{MORE}</p></section>",
        f"<div style='display: none'><p>{MORE}</p></div>",
        f"<div hidden><p>{MORE}</p></div>",
        f"<div role=complementary><p>{MORE}</p></div>",
        f"<figure><img src=i><figcaption>{MORE}</figcaption></figure>",
        f"<form><p>{MORE}</p></form>",
        f"<script>{MORE}</script><style>{MORE}</style><noscript>{MORE}</noscript><template>{MORE}</template>",
    ],
)
def test_what_surrounds_an_article_is_left_out(around: str) -> None:
    """By element, by name, by landmark, or hidden; wherever it stands."""
    wanted = [f"{PROSE} {n}." for n in range(9)]
    assert text(f"{around}<div>{paragraphs(9)}</div>{around}") == wanted
    assert text(f"<main><h1>A title</h1>{around}{paragraphs(9)}</main>") == wanted


@pytest.mark.parametrize(
    "wrapped",
    [
        "<body class='no-comment has-sidebar single'><div>{}</div>",
        "<form action=/default.aspx><div>{}</div></form>",
        "<div class=tools-page>{}</div>",
        "<div class=comments>{}</div>",
        "<table><tr><td><table><tr><td>{}</table></table>",
        "<header>{}</header>",
    ],
)
def test_a_name_does_not_hide_most_of_a_page(wrapped: str) -> None:
    """A wrapper around everything is no boilerplate, whatever it is called."""
    assert text(wrapped.format(paragraphs(9))) == [f"{PROSE} {n}." for n in range(9)]


@pytest.mark.parametrize("name", ["post hentry category-reviews tag-manual format-gallery", "promo", "teaser"])
def test_an_article_is_text_whatever_its_classes_say(name: str) -> None:
    """Blog systems write tags, categories and formats of a post into its class."""
    body = f"<article class='{name}'>{paragraphs(2)}</article>" + f"<div><p>{MORE}</p></div>" * 9
    assert f"{PROSE} 1." in text(body)


def test_what_a_subscriber_may_read_is_text() -> None:
    """A part of an article that is named for its wall belongs to it."""
    assert len(text(f"<div>{paragraphs(9)}<div class=paywall>{paragraphs(3)}</div></div>")) == 12


def test_a_header_belongs_to_what_it_is_in() -> None:
    """That of the site is left out, that of an article holds its first sentences."""
    header = f"<header><p>{MORE}</p></header>"
    assert MORE not in text(f"{header}<div>{paragraphs(9)}</div>")
    assert text(f"<article>{header}{paragraphs(9)}</article>")[0] == MORE


def test_a_forum_gives_every_post() -> None:
    """Many parts of the same weight: the box around them all is the main part."""
    posts = "".join(
        f"<div class=post><a href=/u>user{n}</a><div class=post-body>{PROSE} {n}</div></div>" for n in range(8)
    )
    assert [line for line in text(NAV + f"<div id=topic>{posts}</div>") if line.startswith("Words")] == [
        f"{PROSE} {n}" for n in range(8)
    ]


@pytest.mark.parametrize("part", ["div class=post", "section", "article class=reply"])
def test_one_long_part_of_several_is_not_all(part: str) -> None:
    """A long answer among short ones, a long section among short ones: all of them are the text."""
    end = part.split(" ", maxsplit=1)[0]
    body = f"<{part}><p>{MORE}</p></{end}><{part}>{paragraphs(9)}</{end}><{part}><p>{MORE}</p></{end}>"
    assert text(f"{NAV}<div id=topic>{body}</div>") == [MORE, *(f"{PROSE} {n}." for n in range(9)), MORE]


def test_a_heading_stays_where_the_page_has_no_title() -> None:
    """Only the repeated title is left out."""
    body = f"<h1>About it</h1>{paragraphs(5)}"
    assert cleaned(f"<body>{body}".encode()).document.text.startswith("About it\n")
    assert cleaned(f"<title>About it | Site</title><body>{body}".encode()).document.text.startswith("Words")


def test_a_list_of_short_things_is_kept_whole() -> None:
    """Products and prices: no sentence anywhere, and still this is what the page says."""
    items = "".join(f"<li><a href=/p{n}>Product {n}</a><span>{n}.99</span></li>" for n in range(30))
    assert text(f"{NAV}<ul>{items}</ul>") == [f"Product {n}{n}.99" for n in range(30)]


def test_an_index_of_links_is_kept() -> None:
    """Where links are all there is, they are the text, below an introduction too."""
    links = "".join(f"<li><a href=/e{n}>Chapter number {n}, on a subject</a></li>" for n in range(40))
    assert len(text(f"<div><ul>{links}</ul></div>")) == 40
    assert len(text(f"{NAV}<main>{paragraphs(4)}<ul>{links}</ul></main>")) == 44


def test_documentation_keeps_code_tables_and_headings() -> None:
    """In document order, code as it was written."""
    body = (
        f"<main><h2>Use</h2><p>{PROSE}</p><pre>def f():\n    return 1\n</pre><ul><li>{MORE}</li></ul>"
        f"<table><tr><th>Name</th><th>Value</th></tr><tr><td>a</td><td>1</td></tr></table><p>{MORE} 2</p>"
        f"<dl><dt>term</dt><dd>{MORE} 3</dd></dl><blockquote>{MORE} 4</blockquote></main>"
    )
    expected = ["Use", PROSE, "def f():", "    return 1", MORE, "Name | Value", "a | 1"]
    assert text(NAV + body) == [*expected, f"{MORE} 2", "term", f"{MORE} 3", f"{MORE} 4"]


def test_words_stay_apart_and_together() -> None:
    """Line breaks and cells part words, inline elements do not; white space is collapsed."""
    lines = text(f"<div><p>one<br>two t<b>h</b>ree\n  four&nbsp;five <a href=/>six</a></p>{paragraphs(3)}</div>")
    assert lines[0] == "one two three four five six"


def test_a_page_without_text_gives_none() -> None:
    """An empty body, a frameset, scripts alone."""
    for body in ("", "<script>var a = 1</script>", "<frameset><frame src=/a></frameset>", "<img src=/a>"):
        assert text(body) == [""]


def test_what_is_all_boilerplate_is_still_the_text() -> None:
    """Where nothing else is there."""
    assert text("<div class=ad>one</div><div class=ad>two</div>") == ["one", "two"]


def test_comments_alone_are_the_text_of_a_page_of_comments() -> None:
    """A discussion whose every part is called a comment."""
    posts = "".join(f"<div class=comment><p>{PROSE} {n}</p></div>" for n in range(9))
    assert text(f"<div><p>Ask</p></div><div class=comment-list>{posts}</div>") == [f"{PROSE} {n}" for n in range(9)]


def test_names_that_are_meant_to_cost_time_do_not() -> None:
    """Thousands of elements with kilobytes of class names each, all different: the text is there."""
    names = " ".join(f"ad-{n}" for n in range(300))
    body = "".join(f"<div class='{names} {n}'>{PROSE} {n}</div>" for n in range(2_000))
    assert len(text(body)) == 2_000
    assert text("<div class=ad>" * 900 + f"<p>{PROSE}</p>" * 9) == [PROSE] * 9
