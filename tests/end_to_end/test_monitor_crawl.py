"""The page beside a crawl that really runs: every view fills by itself, and what is ordered there happens."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from product import Crawl, crawl, sql
from test_running_crawl import ready

from tests.integration.browsing import accessible, chromium, opened, picture

SOON_MS = 60_000


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Crawl]:
    """A crawl of the demo site that takes its time."""
    with crawl(tmp_path, "--delay", "1", "--name", "watched") as it:
        it.wait_until((tmp_path / "monitor.endpoint").is_file)
        yield it


@pytest.fixture
def page(running: Crawl) -> Iterator[Page]:
    """Its page, as the crawl names it."""
    with chromium() as browser:
        yield from _page(browser, running)


def _page(browser: Browser, running: Crawl) -> Iterator[Page]:
    with opened(browser, (running.data_dir / "monitor.endpoint").read_text().strip()) as it:
        yield it


def go(page: Page, view: str) -> None:
    """Open a view by its link."""
    page.get_by_role("navigation").get_by_role("link", name=view, exact=True).click()


def views_fill(page: Page) -> None:
    """Rates, workers, hosts, documents and a URL's life are shown."""
    main = page.locator("main")
    expect(
        page.get_by_role("img", name=re.compile(r"^Pages, rows and failures a second: pages [\d.]*[1-9]"))
    ).to_be_visible(timeout=SOON_MS)
    for stage in ("frontier", "fetchers", "streams", "sinks", "monitor"):
        expect(page.get_by_role("list", name="Living workers")).to_contain_text(f"{stage} 1")

    go(page, "Workers")
    expect(page.get_by_role("row", name=re.compile("^odradek-fetchers"))).to_contain_text(re.compile(r"urls 0.3"))
    picture(page, "crawl-workers")
    go(page, "Hosts")
    page.get_by_label("Name holds").fill("wiki.odradek")
    expect(page.get_by_role("row")).to_have_count(2)
    expect(page.get_by_role("row").nth(1)).to_contain_text(re.compile(r"ok 200|redirect 301|client_error 404"))

    go(page, "Documents")
    expect(main.locator("details").first).to_be_visible(timeout=SOON_MS)
    main.locator("details summary").first.click()
    main.locator("details").first.get_by_role("link", name="Explain this URL").click()
    expect(page.locator(".life")).to_contain_text("ok 200 after", timeout=SOON_MS)
    expect(page.locator(".life")).to_contain_text("row in documents", timeout=SOON_MS)
    picture(page, "crawl-explain")


def sql_is_answered(page: Page) -> None:
    """Rows come as a table and as a chart; markup in them is text, and an error is told."""
    go(page, "SQL")
    page.get_by_label("Ready query").select_option("Pages by host")
    expect(page.get_by_role("table")).to_contain_text("odradek.test", timeout=SOON_MS)
    expect(page.locator(".bars li").first).to_be_visible()
    accessible(page)
    picture(page, "crawl-sql")
    page.get_by_label("Ready query").select_option("Pages over time")
    expect(page.get_by_role("img", name=re.compile("^Over time: pages"))).to_be_visible(timeout=SOON_MS)
    page.get_by_label("Statement").fill(
        "SELECT '<b>x</b>' AS html, NULL AS nothing, [1, 2] AS list, throwIf(number = 3) FROM numbers(2)"
    )
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("table")).to_contain_text("<b>x</b>")
    page.get_by_label("Statement").fill("SELECT nothing FROM nowhere")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("alert")).to_contain_text("nowhere")


def orders_happen(running: Crawl, page: Page) -> None:
    """Paused, the frontier releases nothing more; resumed it does; stopped, the crawl finishes by itself."""
    go(page, "Crawls")
    page.get_by_role("button", name="Pause watched").click()
    expect(page.get_by_role("button", name="Resume watched")).to_be_visible()

    def counts() -> dict[str, int]:
        found: dict[str, int] = ready(running.data_dir)["frontier"]["counts"]
        return found

    running.wait_until(lambda: counts()["crawl/watched/leased"] == 0)
    released = counts()["crawl/watched/released"]
    go(page, "Overview")
    expect(page.get_by_role("heading", name=re.compile("The crawl watched is paused"))).to_be_visible(timeout=SOON_MS)
    assert counts()["crawl/watched/queued"] > 0
    assert counts()["crawl/watched/released"] == released
    go(page, "Crawls")
    page.get_by_role("button", name="Resume watched").click()
    running.wait_until(lambda: counts()["crawl/watched/released"] > released)
    page.get_by_role("button", name="Stop watched").click()
    page.get_by_role("button", name="Stop the crawl").click()
    expect(page.locator(".state")).to_have_text("stopped")
    summary = running.wait(120)
    assert (summary["finished"], summary["queued"]) == (True, 0)
    [row] = sql(running.data_dir, "SELECT count() AS n FROM documents")
    assert row["n"] == summary["pages"]


@pytest.mark.timeout(400)
def test_the_page_shows_and_steers_a_crawl_that_runs(running: Crawl, page: Page) -> None:
    """Every view fills by itself, SQL is answered, and what is ordered on the page happens in the pipeline."""
    views_fill(page)
    sql_is_answered(page)
    orders_happen(running, page)
