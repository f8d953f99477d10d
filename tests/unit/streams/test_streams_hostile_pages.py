"""Pages made to be expensive: each is cleaned with little work, and says by a flag that it was not read as others."""

import pytest
from stream_pages import cleaned

from schemas.wire import encode
from streams.hostility import Effort, judge

HOSTILE = {
    "2,000,000 br": b"<p>" + b"x<br>" * 2_000_000,
    "200,000 links": b"".join(b'<a href="/p%d">l</a>' % n for n in range(200_000)),
    "depth of 20,000": b"<div>" * 20_000 + b"TEXT",
    "depth in capitals": b"<DIV>" * 20_000 + b"TEXT",
    "depth behind stray ends": b"</p>" * 20_000 + b"<div>" * 20_000,
    "nested lists": b"<li><ul>" * 20_000,
    "open fonts": b"<font>" * 20_000,
    "formatting made anew": b"".join(b"<b id=%d>" % n for n in range(1_000)) + b"<p>x" * 5_000,
    "options without end": b"<select>" + b"<option>x" * 20_000,
    "attributes": b"<a " + b" ".join(b"a%d=1" % n for n in range(200_000)) + b">x</a>",
    "attributes with tags inside": b"<a " + b" ".join(b'a%d="<>"' % n for n in range(100_000)) + b">x</a>",
    "open tags": b"<a" * 1_000_000,
    "open comments": b"<!-- " * 500_000,
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_page_is_not_parsed(body: bytes) -> None:
    """It is scanned in linear time, and its document is marked."""
    assert judge(body.decode("latin-1")) is Effort.HOSTILE
    document = cleaned(body).document
    assert "huge" in document.flags
    assert len(encode(document)) < 11 * 2**20


@pytest.mark.parametrize(
    "body",
    [
        b"<p>" + b"x<br>" * 3_000,
        b"<P>x<BR>" * 3_000,
        b"<ul>" + b"<li>x" * 3_000,
        b"<table>" + b"<tr><td>x" * 3_000,
        b"<p>" + b"<b>x</b> " * 10_000,
        b'<div data-props="' + b"{&quot;a&quot;: 1, " * 5_000 + b'">x</div>',
        b"<p>" + b"it's a long 'text' with quotes " * 3_000,
        b'<img src="data:image/png;base64,' + b"A" * 500_000 + b'">',
    ],
)
def test_an_ordinary_page_is_no_suspect(body: bytes) -> None:
    """Long lists, old markup without end tags, data in attributes and long texts are read as usual."""
    assert judge(body.decode("latin-1")) is Effort.ORDINARY


def test_many_line_breaks_are_read_but_their_main_part_is_not_looked_for() -> None:
    """50,000 br and 10,000 links are a large page: all its text is taken."""
    document = cleaned(b"<p>" + b"x<br>" * 65_000 + b"<a href=/y>l</a>").document
    assert document.flags == ["huge"]
    assert document.links == ["http://h.test/y"]


def test_the_scanner_finds_title_links_and_text() -> None:
    """What patterns can find in a page that must not be parsed; scripts and comments are left out."""
    head = b"<title>a &amp; b</title><script>var x='<a href=/no>'</script><!-- <a href=/no2> --><style>p{}</style>"
    links = b"<A HREF='/q'>1</A><a class=x href=/u>2</a><a rel=nofollow href=\"/n?a=1&amp;b\">3</a>"
    result = cleaned(head + b"<div>" * 5_000 + links + b"TEXT")
    assert result.document.title == "a & b"
    assert result.document.links == ["http://h.test/q", "http://h.test/u", "http://h.test/n?a=1&b"]
    assert [url.path for url in result.follow] == ["/q", "/u"]
    assert result.document.text.split() == ["1", "2", "3", "TEXT"]


def test_a_page_of_too_many_links_keeps_the_first() -> None:
    """Links of a document are bounded in number and in length together."""
    document = cleaned(b"".join(b'<a href="/p%d">l</a>' % n for n in range(12_000))).document
    assert len(document.links) == 10_000
    assert "too_many_links" in document.flags
    document = cleaned(b"".join(b'<a href="/%s%d">l</a>' % (b"a" * 1_500, n) for n in range(2_000))).document
    assert sum(map(len, document.links)) <= 2**20
    assert "too_many_links" in document.flags
