"""Telling pages that show nothing without their scripts from those that do."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fetchers.rendering.detection import SCANNED_BYTES, look, needs_browser
from schemas.outcomes import Outcome
from tests.unit.fetchers.raw_web import fetching, request, run, sending, serving, settings

TEXT = "A sentence that a reader reads, with what it says. " * 20
REACT = (
    "<!doctype html><html><head><title>Shop</title><meta charset=utf-8></head><body>"
    "<noscript>You need to enable JavaScript to run this app.</noscript>"
    '<div id="root"></div><script src="/static/js/main.js"></script></body></html>'
)


@pytest.mark.parametrize(
    "html",
    [
        REACT,
        '<body><div id="app"></div><script type=module src=/assets/index.js></script>',
        "<body><div id=app><!-- built files will be auto injected --></div><script src=a.js></script>",
        '<body><div class="x" id=\'__next\' data-y>\n</div><script>window.__DATA__={"a":1}</script>',
        "<body><app-root></app-root><script src=runtime.js></script>",
        "<html><script src=a.js></script></html>",
        "<body><div id=main></div><script src=a.js></script>Loading...",
        f"<body><div id=root></div><script>var text = '{TEXT}'</script>",
        f"<body><div id=root></div><script src=a.js></script><style>{TEXT}</style><template>{TEXT}</template>",
    ],
)
def test_an_empty_frame_needs_a_browser(html: str) -> None:
    """What frameworks send before their scripts have run, whatever they hide in scripts, styles and templates."""
    assert needs_browser(html.encode())


@pytest.mark.parametrize(
    "html",
    [
        "",
        "plain text",
        f"<body><p>{TEXT}</p><script src=a.js></script>",
        f"<body><div id=root><p>{TEXT}</p></div><script src=a.js></script><noscript>Enable JavaScript</noscript>",
        "<body><div id=root></div>",
        "<frameset cols=*><frame src=a.html></frameset><script src=a.js></script>",
        '<meta http-equiv="refresh" content="0; url=/x"><script>track()</script>',
        "<body><p>Not found. <a href=/>Home</a></p><script src=analytics.js></script>",
        "<ul><li><a href=/1>One</a><li><a href=/2>Two</a></ul><script src=a.js></script>",
    ],
)
def test_what_shows_something_needs_none(html: str) -> None:
    """Pages with text, small pages with links, frames and refreshes, and pages without any script."""
    assert not needs_browser(html.encode())


@given(st.text(alphabet="<>/!-= \"'abcdivscripttemplatenoscript", max_size=300))
def test_any_text_is_looked_at_to_its_end(html: str) -> None:
    """Whatever stands there, it never raises, and never sees more letters than there are."""
    assert 0 <= look(html).letters <= len(html)
    assert needs_browser(html.encode()) in (True, False)


@pytest.mark.parametrize("piece", ["<script ", "<script>", "<!--", "<a-b>", "<div id=root ", "<", "<noscript>java"])
def test_a_page_cannot_make_it_look_for_ever(piece: str) -> None:
    """Whatever is opened half a million times and never closed is read once."""
    assert needs_browser((piece * SCANNED_BYTES)[: 2 * SCANNED_BYTES].encode()) in (True, False)


@pytest.mark.parametrize("detect", [True, False])
@pytest.mark.parametrize(
    ("coding", "body"), [(b"", REACT.encode()), (b"Content-Encoding: gzip\r\n", gzip.compress(REACT.encode()))]
)
def test_a_fetcher_hands_over_only_where_it_is_told_to(detect: bool, coding: bytes, body: bytes) -> None:
    """The outcome says so and nothing of the page is kept; otherwise it is a page like all others, coded or not."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + coding
    answer = sending(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    async def scenario() -> tuple[Outcome, bytes]:
        async with serving(answer) as port, fetching(settings(), detect=detect) as fetcher:
            attempt = await fetcher.fetch(request(f"http://127.0.0.1:{port}/"))
            return attempt.outcome, attempt.body

    assert run(scenario()) == ((Outcome.NEEDS_BROWSER, b"") if detect else (Outcome.OK, body))
