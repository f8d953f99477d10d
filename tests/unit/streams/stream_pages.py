"""Pages for the tests of the streams."""

from datetime import UTC, datetime

from schemas.records import Page
from schemas.url import split, url_id
from streams.clean import Cleaned, clean

NOW = datetime(2026, 12, 1, tzinfo=UTC)
URL = "http://h.test/dir/page?q=1"


def page(body: bytes, *headers: str, url: str = URL, crawl: str = "default", depth: int = 0) -> Page:
    """A response as a fetcher passes it on; HTML unless ``headers`` say otherwise."""
    lines = ["HTTP/1.1 200 OK", *(headers or ("Content-Type: text/html",))]
    return Page(
        fetch_id="f",
        crawl=crawl,
        url=url,
        url_id=url_id(url),
        host=split(url).host,
        visit=0,
        depth=depth,
        hops=0,
        parent=None,
        fetched_at=NOW,
        status=200,
        head="".join(f"{line}\r\n" for line in lines).encode("latin-1"),
        body=body,
        cut=None,
    )


def cleaned(body: bytes, *headers: str, obey: bool = True) -> Cleaned:
    """What the cleaner makes of it."""
    return clean(page(body, *headers), "odradek", obey=obey, now=NOW)
