"""Sitemaps and feeds: what they name, and what hostile ones cannot do."""

import gzip
import json
import resource
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stream_pages import NOW, page

from schemas.records import Crawl, Kind, Page
from schemas.wire import encode
from streams.sitemap_links import MOST_HOPS, hint, listed
from streams.sitemaps import MAX_URLS, Sitemap, read

BASE = "http://h.test/sitemap.xml"
NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def found(text: str | bytes) -> Sitemap:
    """What is read of it."""
    return read(text.encode() if isinstance(text, str) else text, BASE, NOW)


def hrefs(text: str | bytes) -> list[str]:
    """The pages that it names."""
    return [named.url.href for named in found(text).pages]


def sitemap(body: bytes, *headers: str, url: str = BASE, depth: int = 0, hops: int = 0) -> Page:
    """One as a fetcher passes it on."""
    return page(body, *headers, url=url, depth=depth).model_copy(update={"kind": Kind.SITEMAP, "hops": hops})


def test_a_sitemap_names_pages_with_date_and_priority() -> None:
    """Whatever the name space and the order of the children; what is out of bounds is as if it were not there."""
    text = f"""<?xml version="1.0" encoding="UTF-8"?>
    <urlset {NS} xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
      <url><lastmod>2026-11-30T10:00:00+01:00</lastmod><loc> http://h.test/a?x=1&amp;y=2 </loc><priority>0.8</priority>
        <image:image><image:loc>http://h.test/a.png</image:loc></image:image></url>
      <url><loc>/relative</loc><lastmod>2026-10-01</lastmod><priority>7</priority></url>
      <url><loc>http://h.test/future</loc><lastmod>2099-01-01</lastmod><priority>high</priority></url>
      <url><loc>mailto:x@h.test</loc></url><url></url>
    </urlset>"""
    pages = found(text).pages
    assert [(each.url.href, each.priority, each.modified) for each in pages] == [
        ("http://h.test/a?x=1&y=2", 0.8, datetime(2026, 11, 30, 9, tzinfo=UTC)),
        ("http://h.test/relative", None, datetime(2026, 10, 1, tzinfo=UTC)),
        ("http://h.test/future", None, None),
    ]
    assert found(text).flags == ()


def test_an_index_names_sitemaps() -> None:
    """And no pages."""
    index = f"<sitemapindex {NS}><sitemap><loc>http://h.test/1.xml.gz</loc></sitemap></sitemapindex>"
    assert [each.url.href for each in found(index).sitemaps] == ["http://h.test/1.xml.gz"]
    assert found(index).pages == []


def test_feeds_of_every_age_name_pages() -> None:
    """RSS with links, with permalinks, and as RDF; Atom with several links; the next page of a feed is one more."""
    rss = """<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><link>http://h.test/</link>
      <atom:link rel="next" href="http://h.test/feed?page=2"/>
      <item><title>x</title><link>http://h.test/1</link><pubDate>Mon, 30 Nov 2026 10:00:00 GMT</pubDate></item>
      <item><guid>http://h.test/2</guid></item><item><guid isPermaLink="false">http://h.test/no</guid></item>
    </channel></rss>"""
    assert hrefs(rss) == ["http://h.test/1", "http://h.test/2"]
    assert found(rss).pages[0].modified == datetime(2026, 11, 30, 10, tzinfo=UTC)
    assert [each.url.href for each in found(rss).sitemaps] == ["http://h.test/feed?page=2"]
    rdf = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
      <channel/><item rdf:about="x"><link>http://h.test/3</link></item></rdf:RDF>"""
    assert hrefs(rdf) == ["http://h.test/3"]
    atom = """<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://h.test/"/><entry>
      <link rel="edit" href="http://h.test/edit"/><link href="/4"/><updated>2026-11-30T10:00:00Z</updated>
      <content type="xhtml"><div><link>http://evil.test/</link></div></content></entry></feed>"""
    assert hrefs(atom) == ["http://h.test/4"]


def test_what_a_program_complains_of_is_skipped() -> None:
    """Warnings before the beginning, with tags or without, also where there is no prolog."""
    xml = f"<urlset {NS}><url><loc>http://h.test/1</loc></url></urlset>"
    assert hrefs("Warning: mysql_connect() <br />\n" + xml) == ["http://h.test/1"]
    assert hrefs("<br />\n<b>Notice</b>: x\n<?xml version='1.0'?>" + xml) == ["http://h.test/1"]
    assert found("<!DOCTYPE html><p>" + "x" * 5_000 + xml).flags == ("not_a_sitemap",)


def test_lines_of_text_are_a_sitemap() -> None:
    """With any line ends and a byte order mark; a text of another kind is none."""
    assert hrefs(b"\xef\xbb\xbfhttp://h.test/1\r\nhttp://h.test/2\n\n") == ["http://h.test/1", "http://h.test/2"]
    assert found("Not found\n") == Sitemap([], [], ("not_a_sitemap",))
    assert found("") == Sitemap([], [], ("not_a_sitemap",))


@pytest.mark.parametrize(
    ("body", "flag"),
    [
        ("<!doctype html><html><a href=/x>x</a></html>", "not_a_sitemap"),
        ("<html><body><url><loc>http://h.test/x</loc></url></body></html>", "not_a_sitemap"),
        ("<error>busy</error>", "not_a_sitemap"),
        ("<", "not_a_sitemap"),
        (f'<!DOCTYPE urlset SYSTEM "http://evil.test/x.dtd"><urlset {NS}/>', "doctype"),
        (f"<urlset {NS}><url><loc>http://h.test/1</loc></url><url><loc>http://h.te", "broken_xml"),
    ],
)
def test_what_is_no_sitemap_says_so(body: str, flag: str) -> None:
    """An error page, a document type, or half a file: no exception, and a flag that is counted."""
    assert found(body).flags == (flag,)
    assert len(found(body).pages) <= 1


def test_what_comes_before_a_break_is_kept() -> None:
    """A bare ampersand, the most common mistake, and a file that was cut cost nothing else."""
    text = f"<urlset {NS}><url><loc>http://h.test/?a=1&b=2</loc></url><url><loc>http://h.test/2</loc></url><url><lo"
    assert "http://h.test/2" in hrefs(text)
    assert found(text).flags == ("broken_xml",)


def test_entities_are_not_expanded(tmp_path: Path) -> None:
    """Neither those that grow, nor those that name a file."""
    secret = tmp_path / "secret"
    secret.write_text("http://h.test/secret")
    lol = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(9))
    for dtd in (f'<!ENTITY l0 "lol">{lol}', f'<!ENTITY l9 SYSTEM "file://{secret}">'):
        text = f"<!DOCTYPE urlset [{dtd}]><urlset {NS}><url><loc>http://h.test/&l9;</loc></url></urlset>"
        assert found(text) == Sitemap([], [], ("doctype",))
        assert found(b"\xff\xfe" + text.encode("utf-16-le")).pages == []


def test_the_limits_of_the_protocol_hold() -> None:
    """The 50,001st URL is left out; a tree of any depth, a text of any length and a bomb of zeros cost little."""
    many = f"<urlset {NS}>" + "".join(f"<url><loc>http://h.test/{n}</loc></url>" for n in range(MAX_URLS + 1_000))
    assert (len(found(many).pages), found(many).flags) == (MAX_URLS, ("too_many_urls",))
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert found(f"<urlset {NS}>" + "<a>" * 2_000_000).pages == []
    assert found(f"<urlset {NS}><url><loc>http://h.test/" + "x" * 20_000_000).pages == []
    bomb = gzip.compress(f"<urlset {NS}>".encode() + bytes(300 * 2**20))
    assert listed(sitemap(bomb), Crawl(name="c", created_at=NOW)).flags[0] == "too_large"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 400 * 1024


@given(st.one_of(st.binary(max_size=300), st.text(alphabet="<>/&;url locitem!\"'=[] \n", max_size=200).map(str.encode)))
def test_no_bytes_are_an_exception(body: bytes) -> None:
    """Whatever a server sends as a sitemap, inside of one or alone."""
    for text in (body, b"<urlset>" + body, b"<rss><channel><item><link>" + body):
        assert len(found(text).pages) <= len(text)


def test_the_reported_sitemaps_are_read(cases: Path) -> None:
    """Spaces and CDATA around a loc, junk before the prolog, an error page, and every combination of gzip."""
    rows = {row["n"]: row for row in map(json.loads, (cases / "bugs.jsonl").read_text().splitlines())}
    assert hrefs(f"<urlset {NS}><url>{rows[63]['input']}</url></urlset>") == [rows[63]["right"]]
    junk = json.loads(str(rows[64]["input"]).partition(";")[0])
    xml = f"<urlset {NS}><url><loc>http://h.test/1</loc></url></urlset>"
    assert hrefs(junk.replace("<?xml ...>", '<?xml version="1.0"?>') + xml) == ["http://h.test/1"]
    assert "gzip(gzip(xml)) with CE gzip" in rows[40]["input"]
    crawl = Crawl(name="c", created_at=NOW)
    plain, once = xml.encode(), gzip.compress(xml.encode())
    for body, headers in (
        (plain, ()),
        (once, ()),
        (once, ("Content-Encoding: gzip",)),
        (plain, ("Content-Encoding: gzip",)),
        (gzip.compress(once), ("Content-Encoding: gzip",)),
    ):
        [links] = listed(sitemap(body, *headers, url="http://h.test/s.xml.gz"), crawl).records
        assert links.urls == ["http://h.test/1"]
    assert listed(sitemap(b"<!DOCTYPE html><html>404</html>"), crawl).flags == ("not_a_sitemap",)


def test_links_carry_scope_depth_and_order() -> None:
    """Another host's URLs are left out unless they belong to the crawl; a sitemap's pages are one step from it."""
    body = f"""<urlset {NS}><url><loc>http://h.test/1</loc><priority>1.0</priority><lastmod>2026-11-30T12:00:00Z</lastmod>
      </url><url><loc>http://h.test/2</loc></url><url><loc>http://h.test/2</loc></url>
      <url><loc>http://o.test/3</loc></url></urlset>""".encode()
    given = listed(sitemap(body, depth=2), Crawl(name="c", created_at=NOW))
    [links] = given.records
    assert (links.urls, links.depth, links.kind) == (["http://h.test/1", "http://h.test/2"], 3, Kind.PAGE)
    assert (links.priorities, links.modified) == ([8, 0], [1_796_040_000, 0])
    assert (given.pages, given.out_of_scope) == (2, 2)
    wide = listed(sitemap(body), Crawl(name="c", scope="any", created_at=NOW))
    assert [each.host for each in wide.records] == ["h.test", "o.test"]
    shallow = listed(sitemap(body), Crawl(name="c", max_depth=0, created_at=NOW))
    assert (shallow.records, shallow.pages) == ([], 0)


def test_sitemaps_of_sitemaps_end() -> None:
    """An index leads to its sitemaps at its own depth, and after five of them in a row to none."""
    body = f"<sitemapindex {NS}><sitemap><loc>http://h.test/i.xml</loc></sitemap></sitemapindex>".encode()
    crawl = Crawl(name="c", max_depth=0, created_at=NOW)
    [links] = listed(sitemap(body, hops=1), crawl).records
    assert (links.kind, links.depth, links.hops) == (Kind.SITEMAP, 0, 2)
    assert listed(sitemap(body, hops=MOST_HOPS), crawl).flags == ("too_deeply_nested",)


def test_a_large_sitemap_goes_out_in_records_that_kafka_takes() -> None:
    """However long its URLs are."""
    long = "x" * 1_970
    body = f"<urlset {NS}>" + "".join(f"<url><loc>http://h.test/{n}{long}</loc></url>" for n in range(1_000))
    given = listed(sitemap(body.encode()), Crawl(name="c", created_at=NOW))
    assert sum(len(each.urls) for each in given.records) == 1_000
    assert max(len(encode(each)) for each in given.records) < 1_000_000


def test_what_is_important_and_new_goes_first() -> None:
    """From the least, long unchanged, to the most, changed today."""
    ages = [
        datetime(2026, 11, 30, 12, tzinfo=UTC),
        datetime(2026, 11, 28, tzinfo=UTC),
        datetime(2026, 11, 5, tzinfo=UTC),
    ]
    assert [hint(None, age, NOW) for age in ages] == [3, 2, 1]
    assert (hint(0.0, None, NOW), hint(0.5, None, NOW), hint(None, None, NOW), hint(1.0, ages[0], NOW)) == (-5, 0, 0, 8)
