"""Real documentation, crawled whole: the sites that Debian's packages ship, under several host names."""

import random
from pathlib import Path

import pytest
from product import crawl, sql
from site_server import Site, files
from walk import read, walk

from schemas.url import canonicalize

PYTHON = Path("/usr/share/doc/python3.11/html")
POSTGRESQL = Path("/usr/share/doc/postgresql-doc-15/html")
NAMES = tuple(f"docs{number}.test" for number in range(8))


def documentation(root: Path, package: str) -> Path:
    """The directory; without the package the test skips, saying how to get it."""
    if not root.is_dir():
        pytest.skip(f"needs the documentation of Debian: apt-get install {package}")
    return root


def crawl_all(tmp_path: Path, root: Path, names: tuple[str, ...]) -> tuple[Site, Path]:
    """Crawl every page of ``root`` under every name; the site with its log, and the data directory."""
    with Site(files(root)) as site:
        seeds = [f"http://{name}:{site.port}/index.html" for name in names]
        reach = ["--resolve", "*.test=127.0.0.1", "--allow-network", "127.0.0.0/8", "--delay", "0"]
        with crawl(tmp_path, *seeds, *reach) as running:
            assert running.wait(900)["finished"]
    return site, tmp_path


@pytest.mark.timeout(1_000)
@pytest.mark.parametrize(
    ("root", "package", "names"),
    [(POSTGRESQL, "postgresql-doc-15", NAMES[:1]), (PYTHON, "python3-doc", NAMES)],
    ids=["postgresql", "python"],
)
def test_a_documentation_site_is_crawled_whole(
    tmp_path: Path, root: Path, package: str, names: tuple[str, ...]
) -> None:
    """The rows are exactly the pages that an independent walk of the files finds, with their titles and links."""
    site, data_dir = crawl_all(tmp_path, documentation(root, package), names)
    expected = walk(root, "http://walk")
    rows = sql(data_dir, "SELECT url, title, links FROM documents")
    found = {row["url"]: row for row in rows}
    assert len(found) == len(rows)
    wanted = {page.replace("http://walk", f"http://{name}:{site.port}") for page in expected.pages for name in names}
    assert set(found) == wanted
    fetched = {row["url"] for row in sql(data_dir, "SELECT DISTINCT url FROM fetches WHERE kind = 'page'")}
    others = {url.replace("http://walk", f"http://{name}:{site.port}") for url in expected.others for name in names}
    assert fetched == wanted | others
    for url in random.Random(3).sample(sorted(found), 20):
        path = root / url.split("/", 3)[3]
        seen = read(url, path.read_text("utf-8", "replace"))
        assert found[url]["title"] == seen.title, url
        assert found[url]["links"] == [canonicalize(link).href for link in seen.links], url
