"""The demo site."""

import gzip

from infra.devstack import demo


def test_every_page_it_names_answers() -> None:
    """The set of pages that a right crawl finds is the set that answers 200 and robots.txt allows."""
    urls = list(demo.pages(80))
    assert len(urls) == len(set(urls)) == len(demo.HOSTS) * demo.PAGES_PER_HOST
    for url in urls:
        host, _, path = url.removeprefix("http://").partition(":80")
        response = demo.respond(host, path, 80)
        assert response.status == 200, url
        body = response.body
        text = gzip.decompress(body) if response.headers.get("Content-Encoding") == "gzip" else body
        assert b"<title>" in text


def test_it_has_the_habits_of_the_web() -> None:
    """There are redirects, missing pages, an endless calendar and a robots.txt that forbids it."""
    host = demo.HOSTS[0]
    assert demo.respond(host, "/old/3", 80).headers["Location"] == "/page/3"
    assert demo.respond(host, "/missing", 80).status == 404
    assert b"/calendar/8" in demo.respond(host, "/calendar/7", 80).body
    assert demo.CALENDAR in demo.respond(host, "/robots.txt", 80).body.decode()
    assert demo.respond("other.test", "/", 80).status == 404
