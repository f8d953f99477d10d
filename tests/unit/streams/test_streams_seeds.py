"""Seeds from anybody."""

import json

import pytest

from infra.errors import NeverValid
from schemas.records import Kind, Reason, Seed
from schemas.wire import encode
from streams import seeds


@pytest.mark.parametrize(
    ("value", "url"),
    [
        (b"http://h.test/a", "http://h.test/a"),
        (b"  HTTP://H.test:80/a#f \r\n", "http://h.test/a"),
        (b"\xef\xbb\xbfhttp://h.test/", "http://h.test/"),
        (b"example.org", "https://example.org/"),
        (b"www.example.org:8443/a?b", "https://www.example.org:8443/a?b"),
        (b'"http://h.test/"', "http://h.test/"),
        (b'{"url": "http://h.test/"}', "http://h.test/"),
        (b' \xef\xbb\xbf{"url": "example.org"}', "https://example.org/"),
        (b'{"url": "http://h.test/", "url": "http://i.test/"}', "http://i.test/"),
        ("http://b\u00fccher.test/\u00e4".encode(), "http://xn--bcher-kva.test/%C3%A4"),
        (encode(Seed(url="http://h.test/")), "http://h.test/"),
    ],
)
def test_a_seed_is_read_as_text_json_or_avro(value: bytes, url: str) -> None:
    """Whatever the producer writes, the frontier is told the canonical URL at depth 0."""
    seed = seeds.read(value)
    links = seeds.links(seed, seeds.to_url(seed))
    assert (links.urls, links.depth, links.reason, links.crawl) == ([url], 0, Reason.SEED, "default")


def test_json_and_avro_name_the_crawl() -> None:
    """The crawl of the record is the crawl of the links."""
    assert seeds.read(b'{"url": "http://h.test/", "crawl": "news"}').crawl == "news"
    assert seeds.read(encode(Seed(url="http://h.test/", crawl="news"))).crawl == "news"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "empty_seed"),
        (b"", "empty_seed"),
        (b" \n", "empty_seed"),
        (b"\xff\xfe", "bad_text"),
        (b"http://a.test/\nhttp://b.test/", "bad_text"),
        (b'"http://a.test', "bad_text"),
        (b"not a url", "url_malformed"),
        (b"[" * 10_000, "url_malformed"),
        (b"ftp://h.test/", "url_scheme"),
        (b"file:///etc/passwd", "url_scheme"),
        (b"http://h.test:22/", "url_port"),
        (b"http://h.test/" + b"a" * 100_000, "url_too_long"),
        (b"{", "bad_json"),
        (b"{}", "bad_json"),
        (b'{"url": "http://h.test/", "depth": 3}', "bad_json"),
        (b'{"url": "http://h.test/", "crawl": "no spaces"}', "bad_json"),
        (b'{"url": NaN}', "bad_json"),
        (b'{"url": ' + b"9" * 5_000 + b"}", "bad_json"),
        (b'{"url": "\\ud800"}', "bad_json"),
        (b'{"url":' * 10_000, "bad_json"),
        (b'"\\ud800"', "url_malformed"),
        (b"\xc3\x01" + b"0" * 20, "bad_avro"),
        (encode(Seed(url="http://h.test/"))[:-3], "bad_avro"),
        (b"\x00\x00\x00\x00\x01abc", "bad_avro"),
    ],
)
def test_what_is_no_seed_says_why(value: bytes | None, reason: str) -> None:
    """A reason of a small closed set, and never another exception."""
    with pytest.raises(NeverValid) as caught:
        seeds.to_url(seeds.read(value))
    assert caught.value.reason == reason


def test_the_field_that_is_wrong_is_named() -> None:
    """Whoever reads the dead letter learns what to mend."""
    with pytest.raises(NeverValid, match=r"^depth: "):
        seeds.read(json.dumps({"url": "http://h.test/", "depth": 3}).encode())


def test_a_seed_may_be_a_sitemap_but_no_robots_txt() -> None:
    """Its kind goes on with it; what is read by itself is refused."""
    seed = seeds.read(b'{"url": "https://h.test/s.xml", "kind": "sitemap"}')
    assert seeds.links(seed, seeds.to_url(seed)).kind is Kind.SITEMAP
    with pytest.raises(NeverValid):
        seeds.to_url(seeds.read(b'{"url": "https://h.test/robots.txt", "kind": "robots"}'))
