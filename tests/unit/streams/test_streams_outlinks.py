"""What of a page's links the frontier is told."""

from stream_pages import NOW, page

from schemas.records import Crawl
from schemas.url import canonicalize
from streams.outlinks import Outlinks, Recent, key, select

CRAWL = Crawl(name="c", anchors=["http://a.test/"], created_at=NOW)
PAGE = page(b"", crawl="c", depth=2)


def chosen(
    *urls: str, told: Recent | None = None, pending: set[int] | None = None, limit: int = 100, crawl: Crawl = CRAWL
) -> Outlinks:
    """The outlinks of a page with these links."""
    found = [canonicalize(url) for url in urls]
    return select(crawl, PAGE, found, told or Recent(10), pending=pending or set(), limit=limit)


def test_one_record_for_each_host() -> None:
    """Links of a host travel together, one step deeper, with the page as their parent."""
    [first, second] = chosen("http://h.test/1", "http://a.test/2", "http://h.test/3").records
    assert (first.host, first.urls) == ("h.test", ["http://h.test/1", "http://h.test/3"])
    assert (second.host, second.urls) == ("a.test", ["http://a.test/2"])
    assert (first.depth, first.parent, first.crawl) == (3, PAGE.url, "c")


def test_what_is_out_of_scope_is_not_told() -> None:
    """Other hosts, and links beyond the crawl's depth, are only counted."""
    assert chosen("http://elsewhere.test/").out_of_scope == 1
    shallow = CRAWL.model_copy(update={"max_depth": 2})
    assert chosen("http://h.test/1", crawl=shallow) == Outlinks([], [], 1, 0, 0)


def test_what_was_acknowledged_or_goes_out_now_is_not_told_again() -> None:
    """By crawl and URL; the same URL in another crawl is another."""
    told = Recent(10)
    told.add([key("c", "http://h.test/1"), key("other", "http://h.test/2")])
    found = chosen("http://h.test/1", "http://h.test/2", told=told, pending={key("c", "http://h.test/3")})
    assert found.told_before == 1
    assert found.records[0].urls == ["http://h.test/2"]
    assert chosen("http://h.test/3", pending={key("c", "http://h.test/3")}).told_before == 1


def test_a_page_tells_so_many_new_links_at_the_most() -> None:
    """What is known or out of scope does not count against the limit."""
    urls = ["http://elsewhere.test/", *(f"http://h.test/{n}" for n in range(5))]
    found = chosen(*urls, limit=3)
    assert (len(found.keys), found.over_limit, found.out_of_scope) == (3, 2, 1)


def test_memory_is_bounded_and_keeps_the_newest() -> None:
    """At least the last ``size`` pairs are remembered, at most about twice as many."""
    told = Recent(100)
    for number in range(1_000):
        told.add([number])
    assert all(number in told for number in range(900, 1_000))
    assert sum(number in told for number in range(1_000)) <= 202
