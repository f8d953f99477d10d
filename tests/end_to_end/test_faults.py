"""``kill -9`` in the middle of a crawl: the same set at the end, no row twice, the delay kept."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from product import STAGES, Crawl, audit, crawl, sql
from site_server import NOT_FOUND, Answer, Site

HOSTS = tuple(f"host{number}.test" for number in range(8))
PAGES = 50
DELAY_S = 0.2


def respond(_host: str, path: str) -> Answer:
    """A site of :data:`PAGES` pages in a binary tree, so that there is always something left to find."""
    digits = path.removeprefix("/page")
    if path.startswith("/page") and digits.isdigit() and int(digits) < PAGES:
        number = int(digits)
        linked = (n for n in (2 * number + 1, 2 * number + 2, 0, number) if n < PAGES)
        links = "".join(f'<a href="/page{n}">{n}</a> ' for n in linked)
        return Answer(200, "text/html", f"<title>Page {number}</title><p>{links}</p>".encode())
    return NOT_FOUND


@pytest.fixture
def site() -> Iterator[Site]:
    """The site, with its access log."""
    with Site(respond) as running:
        yield running


def start(site: Site) -> list[str]:
    """The arguments of a crawl of every host."""
    seeds = [f"http://{host}:{site.port}/page0" for host in HOSTS]
    return [*seeds, "--resolve", "*.test=127.0.0.1", "--allow-network", "127.0.0.0/8", "--delay", str(DELAY_S)]


def pages_seen(site: Site) -> int:
    """How many different pages were asked for."""
    return len({(visit.host, visit.path) for visit in site.log if visit.status == 200})


def check(site: Site, data_dir: Path) -> None:
    """Every page is one row, and no host was asked faster than allowed."""
    rows = [row["url"] for row in sql(data_dir, "SELECT url FROM documents")]
    assert sorted(rows) == sorted(f"http://{host}:{site.port}/page{n}" for host in HOSTS for n in range(PAGES))
    fetches = sql(data_dir, "SELECT count() AS rows, uniqExact(fetch_id) AS ids FROM fetches")
    assert fetches[0]["rows"] == fetches[0]["ids"]
    too_fast = {host: gap for host, gap in site.gaps_s().items() if gap < DELAY_S}
    assert too_fast == {}


def finish(running: Crawl) -> dict[str, object]:
    """Wait for the end; the summary."""
    summary = running.wait(240)
    assert summary["finished"]
    return summary


@pytest.mark.timeout(400)
@pytest.mark.parametrize("victim", ["frontier", "fetchers", "streams", "sinks"])
def test_a_killed_stage_loses_and_doubles_nothing(tmp_path: Path, site: Site, victim: str) -> None:
    """One stage is killed in the middle (the frontier loses its disk too): the same rows, the same politeness."""
    with crawl(tmp_path, *start(site)) as running:
        running.wait_until(lambda: pages_seen(site) > len(HOSTS) * PAGES // 4)
        running.kill(victim, wipe=tmp_path / "frontier" if victim == "frontier" else None)
        summary = finish(running)
    assert summary["stages_restarted"] == [victim]
    check(site, tmp_path)


@pytest.mark.timeout(400)
def test_all_stages_killed_at_once_lose_and_double_nothing(tmp_path: Path, site: Site) -> None:
    """Everything is killed at one moment, the frontier's disk wiped: the same rows, the same politeness."""
    with crawl(tmp_path, *start(site)) as running:
        running.wait_until(lambda: pages_seen(site) > len(HOSTS) * PAGES // 3)
        running.kill(*STAGES, wipe=tmp_path / "frontier")
        summary = finish(running)
    assert sorted(summary["stages_restarted"]) == sorted(STAGES)  # type: ignore[call-overload]
    check(site, tmp_path)
    found = audit(tmp_path)
    assert found["violations"] == []
    assert sorted(found["hosts"]) == sorted(f"{host}:{site.port}" for host in HOSTS)
    assert all(report["longest_delay_s"] == DELAY_S for report in found["hosts"].values())


@pytest.mark.timeout(400)
def test_an_interrupted_crawl_goes_on_where_it_stopped(tmp_path: Path, site: Site) -> None:
    """Ctrl-C drains with exit code 130; the same name finishes the rest, and no page is fetched twice."""
    with crawl(tmp_path, *start(site), "--name", "again") as running:
        running.wait_until(lambda: pages_seen(site) > len(HOSTS) * PAGES // 4)
        code, summary = running.interrupt()
    assert (code, summary["finished"], summary["stages_not_drained"]) == (130, False, [])
    with crawl(tmp_path, *start(site), "--name", "again") as running:
        finish(running)
    check(site, tmp_path)
    asked = [(visit.host, visit.path) for visit in site.log if visit.path != "/robots.txt"]
    assert len(asked) == len(set(asked))
