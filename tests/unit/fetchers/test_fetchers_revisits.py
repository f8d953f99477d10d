"""What the fetchers tell of a body, so that the frontier knows whether a page has changed; and sitemaps."""

import gzip

import pytest

from fetchers.attempt import Attempt
from schemas.outcomes import Outcome
from schemas.records import Cut, Fetch, Kind, Page
from tests.unit.fetchers.raw_web import fetch_once, request, sending, settings

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"


def records(body: bytes, kind: Kind = Kind.PAGE, media: bytes = b"text/html") -> tuple[Page | None, Fetch]:
    """What is told of an answer."""
    attempt = fetch_once(sending(HEAD % (media, len(body)) + body), kind=kind)
    return attempt.records(request("http://h.test/", kind=kind), "w")


def body_hash(body: bytes) -> bytes | None:
    """Of a good answer."""
    return records(body)[1].body_hash


def test_the_same_body_has_the_same_hash_whenever_it_was_zipped() -> None:
    """Any other byte makes another one."""
    assert body_hash(b"<p>one") == body_hash(b"<p>one") != body_hash(b"<p>two")
    early, late = (gzip.compress(b"<p>one", mtime=mtime) for mtime in (1, 2))
    assert early != late
    assert body_hash(early) == body_hash(late) != body_hash(gzip.compress(b"<p>two", mtime=1))


@pytest.mark.parametrize(
    ("outcome", "cut", "body", "told"),
    [
        (Outcome.OK, None, b"x", True),
        (Outcome.OK, Cut.LENGTH, b"x", True),
        (Outcome.OK, Cut.TIME, b"x", False),
        (Outcome.OK, Cut.DISCONNECT, b"x", False),
        (Outcome.OK, Cut.LENGTH, b"", False),
        (Outcome.CLIENT_ERROR, None, b"x", False),
        (Outcome.NOT_MODIFIED, None, b"", False),
    ],
)
def test_what_broke_off_or_is_none_has_no_hash(outcome: Outcome, cut: Cut | None, body: bytes, told: bool) -> None:
    """It would pass for a change."""
    attempt = Attempt(outcome=outcome, status=200, cut=cut, body=body)
    assert (attempt.records(request("http://h.test/"), "w")[1].body_hash is not None) is told


def test_a_sitemap_is_kept_whatever_it_is_called() -> None:
    """A film by its media type, and longer than a page may be; as a page neither is."""
    page, fetch = records(b"<urlset/>", Kind.SITEMAP, b"video/mp4")
    assert page is not None
    assert (page.kind, page.body, fetch.kind, fetch.outcome) == (Kind.SITEMAP, b"<urlset/>", Kind.SITEMAP, Outcome.OK)
    assert records(b"<urlset/>", Kind.PAGE, b"video/mp4")[0] is None
    long = b"<urlset>" + b" " * 200_000
    small = settings(max_body_kib=64)
    whole = fetch_once(sending(HEAD % (b"text/xml", len(long)) + long), configured=small, kind=Kind.SITEMAP)
    assert (whole.cut, len(whole.body)) == (None, len(long))
