"""A host with very many URLs does not hold up the hosts beside it."""

from pathlib import Path

import pytest
from product import crawl
from site_server import NOT_FOUND, Answer, Site

HOT, HOT_PAGES = "hot.test", 2_000
OTHERS = tuple(f"other{number}.test" for number in range(60))
OTHER_PAGES = 20


def respond(host: str, path: str) -> Answer:
    """The hot host asks for a second between requests; every first page links to all pages of its host."""
    pages = HOT_PAGES if host == HOT else OTHER_PAGES
    if path == "/robots.txt":
        return Answer(200, "text/plain", b"User-agent: *\nCrawl-delay: 1\n") if host == HOT else NOT_FOUND
    if path == "/":
        links = "".join(f'<a href="/{number}">{number}</a> ' for number in range(1, pages))
        return Answer(200, "text/html", f"<title>{host}</title>{links}".encode())
    return Answer(200, "text/html", f"<title>{path}</title><p>Nothing more.</p>".encode())


@pytest.mark.timeout(300)
def test_a_hot_host_does_not_block_its_partition(tmp_path: Path) -> None:
    """On one partition, 60 hosts are done before the hot host, at one page a second, has had a tenth of its turn."""
    with Site(respond) as site:
        # The hot host first, alone, so that its whole backlog stands before the others come.
        seeds = [f"http://{host}:{site.port}/" for host in (HOT, *OTHERS)]
        reach = ["--resolve", "*.test=127.0.0.1", "--allow-network", "127.0.0.0/8", "--delay", "0"]
        environment = {"ODRADEK_KAFKA__PARTITIONS": "1"}
        with crawl(tmp_path, *seeds, *reach, environment=environment) as running:

            def others_done() -> bool:
                done = {(visit.host, visit.path) for visit in list(site.log) if visit.host != HOT}
                return len(done) >= len(OTHERS) * (OTHER_PAGES + 1)

            running.wait_until(others_done)
            hot = [visit for visit in site.log if visit.host == HOT]
            assert 1 <= len(hot) < HOT_PAGES / 10
            code, summary = running.interrupt()
        assert code == 130
        assert summary["queued"] > HOT_PAGES / 2
        assert site.gaps_s()[HOT] >= 1
