"""A site that shows nothing without its scripts, crawled as a user would."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from product import audit, crawl, sql
from site_server import NOT_FOUND, Answer, Site

from fetchers.rendering.browser import executable
from infra.errors import UserError
from infra.settings import RenderingSettings

PAGES = 4
SHELL = b'<!doctype html><title>App</title><div id="root"></div><script src="/app.js"></script>'
SCRIPT = b"""
const number = location.pathname.slice(1) || '0';
fetch('/api/' + number).then(answer => answer.json()).then(page => {
  const root = document.getElementById('root');
  const text = document.createElement('p'); text.textContent = page.text; root.append(text);
  for (const link of page.links) {
    const a = document.createElement('a'); a.href = link; a.textContent = link; root.append(a);
  }
});
"""


def respond(_host: str, path: str) -> Answer:
    """Shells, what fills them, and one page that needs no filling."""
    if path == "/app.js":
        return Answer(200, "text/javascript", SCRIPT)
    if (found := re.fullmatch(r"/api/(\d+)", path)) is not None:
        number = int(found[1])
        links = [f"/{number + 1}"] if number + 1 < PAGES else ["/plain"]
        page = {"text": f"What the scripts of page {number} have written for those who read.", "links": links}
        return Answer(200, "application/json", json.dumps(page).encode())
    if path == "/plain":
        return Answer(200, "text/html", b"<title>Plain</title><p>" + b"A page that shows all it has. " * 30)
    if path == "/" or re.fullmatch(r"/\d+", path):
        return Answer(200, "text/html", SHELL)
    return NOT_FOUND


@pytest.mark.timeout(300)
def test_a_site_of_scripts_is_crawled_to_its_end(tmp_path: Path) -> None:
    """Links that only scripts write are followed, their text is in the rows; the host's delay holds over both kinds."""
    try:
        executable(RenderingSettings())
    except UserError as error:
        pytest.skip(str(error))
    with Site(respond) as site:
        reach = ["--resolve", "*.test=127.0.0.1", "--allow-network", "127.0.0.0/8", "--delay", "0.3"]
        environment = {"ODRADEK_RENDERING__DETECT": "true"}
        with crawl(tmp_path, f"http://app.test:{site.port}/", *reach, environment=environment) as running:
            summary = running.wait(240)
    assert (summary["finished"], summary["pages"], summary["errors"]) == (True, PAGES + 1, 0)
    texts = {
        row["url"].rpartition("/")[2]: row["text"] for row in sql(tmp_path, "SELECT url, text FROM documents FINAL")
    }
    assert texts.keys() == {"", *map(str, range(1, PAGES)), "plain"}
    for number in range(PAGES):
        assert f"page {number} have written" in texts[str(number or "")]
    outcomes = {row["outcome"]: int(row["n"]) for row in sql(tmp_path, COUNTS)}
    assert outcomes == {"needs_browser": PAGES, "ok": PAGES + 1}
    documents = [visit for visit in site.log if not visit.path.startswith(("/api/", "/app.js", "/robots.txt"))]
    assert len(documents) == 2 * PAGES + 1
    assert min(later.at_s - earlier.at_s for earlier, later in pairwise(documents)) >= 0.3
    assert [visit.path for visit in site.log].count("/app.js") == 1
    assert audit(tmp_path)["violations"] == []


COUNTS = "SELECT outcome, count() AS n FROM fetches FINAL WHERE kind = 'page' GROUP BY outcome"
