"""Why is it slow? A newcomer opens the page of a crawl in which something is wrong, and reads the answer there."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from product import Crawl, crawl
from site_server import NOT_FOUND, Answer, Site

from infra.devstack.local import attach
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from tests.integration.browsing import accessible, chromium, opened, picture

TOLD_WITHIN_MS = 60_000
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all."""
    with chromium() as it:
        yield it


@contextmanager
def watched(running: Crawl, browser: Browser) -> Iterator[Page]:
    """The page that the crawl names."""
    file = running.data_dir / "monitor.endpoint"
    running.wait_until(file.is_file)
    with opened(browser, file.read_text().strip()) as page:
        yield page


def told(page: Page, title: str) -> None:
    """The overview tells it within a minute, with what to do; the same words lead to it in the documentation."""
    heading = page.get_by_role("heading", name=re.compile(title))
    expect(heading).to_be_visible(timeout=TOLD_WITHIN_MS)
    expect(page.locator("article", has=heading)).to_contain_text("What to do:")
    lines = (ROOT / "docs" / "troubleshooting.md").read_text().splitlines()
    titles = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    shown = str(heading.first.text_content())
    assert [each for each in titles if all(part.strip() in shown for part in each.split("..."))], shown


def slow_site() -> Site:
    """One host of two hundred pages that takes its time, and three quick ones of five pages."""

    def respond(host: str, path: str) -> Answer:
        if path == "/robots.txt":
            return NOT_FOUND
        count = 200 if host.startswith("slow") else 5
        links = "".join(f'<a href="/{number}">{number}</a>' for number in range(count))
        return Answer(200, "text/html", f"<title>{host}{path}</title><p>Some text.</p>{links}".encode())

    return Site(respond, wait_s={"slow.situation.test": 2.5})


@pytest.mark.timeout(300)
def test_a_slow_host(tmp_path: Path, browser: Browser) -> None:
    """It is named, with its share of what waits and the time it takes; one step further all about it is shown."""
    with slow_site() as site:
        seeds = [f"http://{name}.situation.test:{site.port}/" for name in ("slow", "one", "two", "three")]
        options = ["--resolve", "*.situation.test=127.0.0.1", "--allow-network", "127.0.0.0/8", "--delay", "0.1"]
        with crawl(tmp_path, *seeds, *options) as running, watched(running, browser) as page:
            told(page, "Most of what waits is of one host: slow.situation.test")
            expect(page.locator("main")).to_contain_text("it is slow: it takes 2.5 s to answer", timeout=TOLD_WITHIN_MS)
            expect(page.locator("main")).to_contain_text("More fetchers will not help")
            accessible(page)
            picture(page, "situation-slow-host")
            page.get_by_role("link", name=re.compile("Show more about: Most of what waits")).click()
            row = page.get_by_role("row", name=re.compile("slow.situation.test"))
            expect(row).to_contain_text("2.5 s")
            expect(row.get_by_role("button", name=re.compile("^Block"))).to_be_visible()
            running.interrupt()


@pytest.mark.timeout(300)
def test_a_dead_sink(tmp_path: Path, browser: Browser) -> None:
    """The store is named with what waits for it, and that nothing is lost; the crawl goes on beside it."""
    stores = {"clickhouse": {}, "archive": {"dsn": "clickhouse://127.0.0.1:9/none"}}
    environment = {**os.environ, "ODRADEK_SINKS__STORES": json.dumps(stores)}
    with crawl(tmp_path, "--delay", "0.5", environment=environment) as running, watched(running, browser) as page:
        told(page, "A store takes no rows: archive")
        finding = page.locator("article", has_text="A store takes no rows")
        expect(finding).to_contain_text("Nothing is lost")
        expect(finding).to_contain_text("problem")
        picture(page, "situation-dead-sink")
        page.get_by_role("link", name=re.compile("Show more about: A store takes no rows")).click()
        expect(page.get_by_role("row", name=re.compile("odradek-sink-archive"))).to_contain_text(
            re.compile(r"documents [1-9]"), timeout=TOLD_WITHIN_MS
        )
        running.interrupt()


@pytest.mark.timeout(300)
def test_a_poisoned_topic(tmp_path: Path, browser: Browser) -> None:
    """The topic and the reason are named; one step further what is in the records is shown, and handles for them."""
    with crawl(tmp_path, "--delay", "0.5") as running, watched(running, browser) as page:
        settings = attach(Settings(data_dir=running.data_dir))
        poison = [Outbound(TopicName.PAGES, b"%d" % number, b"<poison %d>" % number) for number in range(7)]
        assert Producer(settings, "test-poison").send_all(poison, timedelta(seconds=30)) == []
        told(page, "7 records of topic pages could not be used")
        picture(page, "situation-poisoned-topic")
        page.get_by_role("link", name=re.compile("Show more about: 7 records of topic pages")).click()
        letter = page.locator("details").first
        letter.locator("summary").click()
        expect(letter).to_contain_text("<poison")
        expect(letter.get_by_role("button", name=re.compile("^Requeue"))).to_be_visible()
        running.interrupt()
