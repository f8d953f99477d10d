"""A crawl that visits pages again: conditional requests go out, unchanged pages cost no document."""

from pathlib import Path

import pytest
from aiohttp import web
from product import audit, crawl, sql
from site_server import NOT_FOUND, Site


class Versioned(Site):
    """Each answer has an entity tag; ``/news`` is another one each time, ``/`` never is."""

    def __init__(self) -> None:
        super().__init__(lambda _host, _path: NOT_FOUND)
        self.asked: dict[str, list[str | None]] = {}

    async def _answer(self, request: web.Request) -> web.Response:
        asked = self.asked.setdefault(request.path, [])
        asked.append(request.headers.get("If-None-Match"))
        bodies = {"/": "<title>Home</title><a href=/news>News</a>", "/news": f"<p>News number {len(asked)}</p>"}
        body = bodies.get(request.path)
        if body is None:
            return web.Response(status=404)
        etag = f'"{len(asked) if request.path == "/news" else 0}"'
        if asked[-1] == etag:
            return web.Response(status=304, headers={"ETag": etag})
        return web.Response(text=body, content_type="text/html", headers={"ETag": etag})


@pytest.mark.timeout(300)
def test_what_changes_is_fetched_again_and_what_does_not_is_only_asked_for(tmp_path: Path) -> None:
    """Each visit asks with the last entity tag; a 304 ends it without a page, a new body is a new version."""
    bounds = {"FIRST": "PT1S", "SHORTEST": "PT1S", "LONGEST": "PT4S"}
    environment = {f"ODRADEK_FRONTIER__REVISIT__{name}": value for name, value in bounds.items()}
    with Versioned() as site:
        reach = ["--resolve", "*.test=127.0.0.1", "--allow-network", "127.0.0.0/8", "--delay", "0.1", "--revisit"]
        base = f"http://h.test:{site.port}"
        with crawl(tmp_path, f"{base}/", *reach, environment=environment) as running:
            running.wait_until(lambda: min(len(site.asked.get(path, ())) for path in ("/", "/news")) >= 4)
            code, _ = running.interrupt()
    assert code == 130
    assert site.asked["/"][:4] == [None, '"0"', '"0"', '"0"']
    assert site.asked["/news"][:4] == [None, '"1"', '"2"', '"3"']
    visits = {
        row["url"]: row["visits"] for row in sql(tmp_path, "SELECT url, count() visits FROM documents GROUP BY url")
    }
    assert visits[f"{base}/"] == 1
    assert int(visits[f"{base}/news"]) >= 3
    outcomes = sql(tmp_path, "SELECT DISTINCT url, outcome FROM fetches WHERE kind = 'page'")
    assert {(row["url"], row["outcome"]) for row in outcomes} == {
        (f"{base}/", "ok"),
        (f"{base}/", "not_modified"),
        (f"{base}/news", "ok"),
    }
    assert audit(tmp_path)["violations"] == []
