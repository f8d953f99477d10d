"""Which of the statements that a page makes about links and itself are heeded, as the settings say."""

from datetime import UTC, datetime
from typing import Any

import pytest
from stream_pages import NOW, page

from infra.settings import LinkSettings
from schemas.records import Crawl, Kind
from streams.clean import Cleaned, finish
from streams.opened import Way, open_page
from streams.policy import MOST_ALTERNATES, NOINDEX, not_indexed
from streams.sitemap_links import listed

BODY = b"""<html><head><link rel=canonical href="/canonical"><link rel="alternate" hreflang=de href=/de>
<link rel="Alternate" hreflang=x-default href=http://o.test/><link rel=alternate media=print href=/print>
<link rel=alternate type="application/RSS+xml" title=News href=/feed hreflang=en>
<link rel="alternate stylesheet" type="application/rss+xml" href=/style></head>
<body><a href=/a>a</a><a href=/b rel="ugc NoFollow">b</a></body></html>"""


def cleaned(body: bytes = BODY, *headers: str, obey: bool = True, **settings: str) -> Cleaned:
    """The page, cleaned under these settings."""
    way = Way("odradek", obey, links=LinkSettings.model_validate(settings))
    return finish(open_page(page(body, "Content-Type: text/html", *headers)), way, NOW)


def paths(body: bytes = BODY, *headers: str, obey: bool = True, **settings: str) -> list[str]:
    """What is followed."""
    return [url.path for url in cleaned(body, *headers, obey=obey, **settings).follow]


def test_by_default_the_page_is_followed_as_it_wishes() -> None:
    """Its links but those with nofollow, then its canonical address and its translations; no feeds, no print view."""
    assert paths() == ["/a", "/canonical", "/de", "/"]
    assert cleaned().feeds == []
    assert cleaned().document.flags == []


@pytest.mark.parametrize(
    ("settings", "followed"),
    [
        ({"nofollow": "ignore"}, ["/a", "/b", "/canonical", "/de", "/"]),
        ({"canonical": "ignore"}, ["/a", "/de", "/"]),
        ({"hreflang": "ignore"}, ["/a", "/canonical"]),
    ],
)
def test_each_statement_can_be_ignored_by_itself(settings: dict[str, Any], followed: list[str]) -> None:
    """And only that."""
    assert paths(**settings) == followed


def test_feeds_are_followed_where_that_is_wanted() -> None:
    """As feeds, not as pages."""
    assert [url.path for url in cleaned(feeds="follow").feeds] == ["/feed"]
    assert paths(feeds="follow") == paths()


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (BODY + b"<meta name=robots content='noarchive, NoFollow'>", ()),
        (BODY + b"<meta name=odradek content=none>", ()),
        (BODY, ("X-Robots-Tag: nofollow",)),
        (BODY, ("X-Robots-Tag: otherbot: noindex", "X-Robots-Tag: odradek: nofollow")),
    ],
)
def test_a_page_may_forbid_all_of_it(body: bytes, headers: tuple[str, ...]) -> None:
    """By a meta element or a header for everybody or for us, unless that is ignored, or the crawl obeys nothing."""
    assert paths(body, *headers) == []
    assert cleaned(body, *headers, feeds="follow").feeds == []
    assert paths(body, *headers, nofollow="ignore") == ["/a", "/b", "/canonical", "/de", "/"]
    assert paths(body, *headers, obey=False) == paths()


@pytest.mark.parametrize("headers", [("X-Robots-Tag: noindex",), ("X-Robots-Tag: none",)])
def test_noindex_is_marked(headers: tuple[str, ...]) -> None:
    """The document says so, unless that is ignored; a decision would say why there is none."""
    document = cleaned(BODY, *headers).document
    assert document.flags == [NOINDEX]
    assert cleaned(BODY, *headers, noindex="ignore").document.flags == []
    assert cleaned(BODY, "X-Robots-Tag: otherbot: noindex").document.flags == []
    decision = not_indexed(document, NOW)
    assert (decision.stage, decision.reason, decision.url) == ("streams", "noindex", document.url)


def test_a_page_that_is_its_own_canonical_is_no_link_to_itself() -> None:
    """Nor is what is no address at all."""
    own = b"<link rel=canonical href='http://h.test/dir/page?q=1'><link rel=alternate hreflang=fr href='mailto:x'>"
    assert paths(own) == []
    many = b"".join(b"<link rel=alternate hreflang=de href=/%d>" % number for number in range(5_000))
    assert len(paths(many)) == MOST_ALTERNATES


def test_translations_in_a_sitemap_are_pages_where_they_are_followed() -> None:
    """They stand beside the page's own address."""
    body = b"""<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml">
      <url><loc>http://h.test/en</loc><xhtml:link rel="alternate" hreflang="de" href="http://h.test/de"/>
      <xhtml:link rel="alternate" hreflang="en" href="http://h.test/en"/></url></urlset>"""
    raw = page(body, "Content-Type: text/xml", url="http://h.test/s.xml").model_copy(update={"kind": Kind.SITEMAP})
    crawl = Crawl(name="c", created_at=datetime.now(UTC))
    [links] = listed(raw, crawl).records
    assert links.urls == ["http://h.test/en", "http://h.test/de"]
    [links] = listed(raw, crawl, hreflang=False).records
    assert links.urls == ["http://h.test/en"]
