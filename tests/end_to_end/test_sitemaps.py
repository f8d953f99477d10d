"""Pages to which nothing links are found by their sitemaps and feeds."""

import gzip
from pathlib import Path

import pytest
from product import audit, crawl, sql
from site_server import Answer, Site

NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


@pytest.mark.timeout(300)
def test_sitemaps_lead_to_pages_without_links(tmp_path: Path) -> None:
    """From robots.txt by an index and a gzipped sitemap, and by a feed, politely; a sitemap is no document."""

    def respond(host: str, path: str) -> Answer:
        base = f"http://{host}:{site.port}"
        match path:
            case "/robots.txt":
                return Answer(200, "text/plain", f"Sitemap: {base}/index.xml\nSitemap: {base}/feed".encode())
            case "/index.xml":
                index = f"<sitemapindex {NS}><sitemap><loc>{base}/1.xml.gz</loc></sitemap></sitemapindex>"
                return Answer(200, "text/xml", index.encode())
            case "/1.xml.gz":
                urls = "".join(f"<url><loc>{base}/page/{number}</loc></url>" for number in range(20))
                return Answer(200, "application/octet-stream", gzip.compress(f"<urlset {NS}>{urls}</urlset>".encode()))
            case "/feed":
                item = f"<item><link>{base}/news</link></item>"
                return Answer(200, "application/rss+xml", f"<rss><channel>{item}</channel></rss>".encode())
        return Answer(200, "text/html", f"<title>{path}</title><p>Nothing links to this.</p>".encode())

    with Site(respond) as site:
        reach = ["--resolve", "*.test=127.0.0.1", "--allow-network", "127.0.0.0/8", "--delay", "0.05"]
        with crawl(tmp_path, f"http://h.test:{site.port}/", *reach) as running:
            running.wait(240)
        found = {row["url"] for row in sql(tmp_path, "SELECT url FROM documents")}
        base = f"http://h.test:{site.port}"
        assert found == {f"{base}/", f"{base}/news", *(f"{base}/page/{number}" for number in range(20))}
        kinds = {row["kind"] for row in sql(tmp_path, "SELECT DISTINCT kind FROM fetches")}
        assert kinds == {"page", "robots", "sitemap"}
        assert audit(tmp_path)["violations"] == []
        assert site.gaps_s()["h.test"] >= 0.05
