"""The monitor's page in a real browser: every view shows what is, every handle takes effect, nothing hostile runs."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.fetchers import UrlFetched
from schemas.outcomes import Outcome
from tests.integration.browsing import Theme, accessible, chromium, fits, opened, picture
from tests.integration.monitor_scene import Scene, document, fetch, letter, monitored

CRAWL, HOST = "page-crawl-1", "slow.page.test"
HOSTILE = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"
VIEWS = {
    "overview": "What holds it up",
    "crawls": CRAWL,
    "hosts": HOST,
    "explain": "Why a URL was or was not crawled",
    "documents": "A good page",
    "dead-letters": "undecodable",
    "sql": "Ready query",
    "workers": "Consumer groups",
    "settings": "monitor.gone_after",
}


@pytest.fixture(scope="module")
def scene(kafka_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A monitor of a pipeline in which much happens."""
    with monitored(kafka_settings, tmp_path_factory.mktemp("page"), look_every=0.5) as it:
        it.define(CRAWL, anchors=["http://slow.page.test/"])
        it.counts = {
            f"crawl/{CRAWL}/queued": 800, f"crawl/{CRAWL}/pages": 350, f"crawl/{CRAWL}/refused": 12, "queued": 800,
            "leased": 2, "hosts": 31,
        }  # fmt: skip
        it.has_work(HOST, 640, delay_s=2.0, wait_s=1.4)
        for number in range(30):
            it.has_work(f"host-{number}.page.test", 3 + number % 5)
        for number in range(4):
            it.send(TopicName.FETCHES, HOST.encode(), fetch(f"http://{HOST}/{number}", HOST, total_ms=6_000))
        it.send(TopicName.FETCHES, b"h", fetch("http://h/", "host-1.page.test", Outcome.TIMEOUT, error=HOSTILE))
        text = "A paragraph of the main text, as a reader of the topic gets it.\nAnother one."
        it.send(TopicName.DOCUMENTS, b"1", document("http://a.page.test/1", title="A good page", text=text, words=15))
        it.send(TopicName.DOCUMENTS, b"2", document("http://a.page.test/2", title=HOSTILE, text=HOSTILE))
        it.send(TopicName.DEAD_LETTERS, b"1", *(letter(1_000 + number, error=HOSTILE) for number in range(3)))
        it.until("/api/dead-letters", lambda answer: len(answer["letters"]) >= 3)
        for number in range(12):
            for _ in range(number * 3 % 7 + 4):
                emit(UrlFetched("http://a/", Outcome.OK, 200, None, 10, 0.05 * (1 + number % 3), None))
            points = len(it.ask("/api/overview")[1]["history"])
            it.until("/api/overview", lambda answer, points=points: len(answer["history"]) > points)  # type: ignore[misc]
        yield it


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all."""
    with chromium() as it:
        yield it


@pytest.fixture
def page(scene: Scene, browser: Browser) -> Iterator[Page]:
    """The page as `odradek crawl` names it, token and all."""
    with opened(browser, f"{scene.url}/#token={scene.token}") as it:
        yield it


def view(page: Page, name: str) -> None:
    """Go to a view by its link."""
    page.get_by_role("navigation").get_by_role(
        "link", name=re.compile(f"^{name.replace('-', ' ')}$", re.IGNORECASE)
    ).click()


def refreshed(page: Page, path: str) -> None:
    """Return when the page has asked twice more: then it has shown the first answer."""
    for _ in range(2):
        page.wait_for_event("response", lambda answer: f"/api/{path}" in answer.url)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
def test_every_view_shows_what_is(scene: Scene, browser: Browser, theme: Theme, phone: bool) -> None:
    """In both themes and at both widths: it is shown, it fits, axe finds nothing, and the console is silent."""
    with opened(browser, f"{scene.url}/#token={scene.token}", phone=phone, theme=theme) as page:
        for name, shown in VIEWS.items():
            view(page, name)
            expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(name.replace("-", " "), re.IGNORECASE))
            expect(page.locator("main")).to_contain_text(shown)
            fits(page)
            accessible(page)
            picture(page, f"{name}-{theme}-{'phone' if phone else 'desk'}")
        assert page.title() != "owned"


def test_the_token_does_not_stay_in_the_address(page: Page, scene: Scene) -> None:
    """It is taken from the address at once, so that it is in no history and on no screenshot."""
    expect(page.locator("main")).to_contain_text("What holds it up")
    assert scene.token not in page.url


def test_the_overview_tells_a_newcomer_what_is_wrong(page: Page) -> None:
    """The host that holds most of the work and the poisoned topic are named; a link leads to where more is shown."""
    expect(page.get_by_role("heading", name=f"Most of what waits is of one host: {HOST}")).to_be_visible()
    expect(page.get_by_role("heading", name=re.compile("of topic pages could not be used"))).to_be_visible()
    page.get_by_role("link", name=f"Show more about: Most of what waits is of one host: {HOST}").click()
    expect(page.get_by_label("Name holds")).to_have_value(HOST)
    expect(page.get_by_role("row")).to_have_count(2)
    expect(page.locator("main")).to_contain_text("6.0 s")


def test_a_crawl_is_paused_resumed_and_preferred(page: Page, scene: Scene) -> None:
    """Each handle is an order in force, and the page shows it without being loaded again."""
    view(page, "crawls")
    page.get_by_role("button", name=f"Pause {CRAWL}").click()
    expect(page.get_by_role("button", name=f"Resume {CRAWL}")).to_be_visible()
    assert ("pause", CRAWL) in orders(scene)
    page.get_by_role("button", name=f"Resume {CRAWL}").click()
    expect(page.get_by_role("button", name=f"Pause {CRAWL}")).to_be_visible()
    assert ("pause", CRAWL) not in orders(scene)
    page.get_by_role("button", name=f"Priority {CRAWL}").click()
    page.get_by_role("spinbutton", name="Priority").fill("7")
    page.get_by_role("button", name="Order").click()
    expect(page.locator("article", has_text=CRAWL)).to_contain_text("priority 7 by monitor")
    page.get_by_role("button", name=f"Take back priority of {CRAWL}").click()
    expect(page.locator("article", has_text=CRAWL)).not_to_contain_text("priority 7")
    assert orders(scene) == set()


def test_a_stop_is_asked_about_first(page: Page, scene: Scene) -> None:
    """Cancelled, by button or by Escape, nothing is ordered; confirmed, the crawl is stopped."""
    view(page, "crawls")
    stop = page.get_by_role("button", name=f"Stop {CRAWL}")
    stop.click()
    page.get_by_role("button", name="Cancel").click()
    stop.click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert orders(scene) == set()
    stop.click()
    page.get_by_role("button", name="Stop the crawl").click()
    expect(page.locator("article", has_text=CRAWL).locator(".state")).to_have_text("stopped")
    page.get_by_role("button", name=f"Take the stop back {CRAWL}").click()
    expect(page.locator("article", has_text=CRAWL).locator(".state")).to_have_text("running")
    assert orders(scene) == set()


def orders(scene: Scene) -> set[tuple[str, str]]:
    """Actions and targets of what is in force of ours."""
    return {
        (each["action"], each["target"])
        for each in scene.ask("/api/orders")[1]["orders"]
        if each["target"] in (CRAWL, HOST)
    }


def test_a_host_is_found_blocked_and_slowed_down(page: Page, scene: Scene) -> None:
    """By the keyboard alone: search, order a delay, block, take both back."""
    view(page, "hosts")
    page.get_by_label("Name holds").focus()
    page.keyboard.type("SLOW.page")
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_role("button", name=f"Delay {HOST}").focus()
    page.keyboard.press("Enter")
    page.keyboard.type("3.5")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name=f"Undo delay {HOST}")).to_be_visible()
    page.get_by_role("button", name=f"Block {HOST}", exact=True).press("Space")
    page.get_by_role("button", name="Block the host").press("Enter")
    expect(page.get_by_role("button", name=f"Unblock {HOST}")).to_be_visible()
    assert orders(scene) == {("delay", HOST), ("block", HOST)}
    page.get_by_role("button", name=f"Unblock {HOST}").press("Enter")
    page.get_by_role("button", name=f"Undo delay {HOST}").press("Enter")
    expect(page.get_by_role("button", name=f"Delay {HOST}", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name=f"Block {HOST}", exact=True)).to_be_visible()
    assert orders(scene) == set()


def test_a_refresh_disturbs_nobody(page: Page) -> None:
    """Focus stays on its button and what was opened stays open while the figures below change."""
    view(page, "documents")
    page.get_by_text("A good page").click()
    expect(page.get_by_text("Another one.")).to_be_visible()
    refreshed(page, "documents")
    expect(page.get_by_text("Another one.")).to_be_visible()
    view(page, "hosts")
    button = page.get_by_role("button", name=f"Pause {HOST}")
    button.focus()
    refreshed(page, "hosts")
    expect(button).to_be_focused()


def test_a_url_is_explained(page: Page) -> None:
    """From the form, and from a document's link; what is no URL is said to be none."""
    view(page, "explain")
    page.get_by_label("URL").fill("http://elsewhere.page.test/1")
    page.get_by_label("Crawl").select_option(CRAWL)
    page.get_by_role("button", name="Explain").click()
    expect(page.locator(".life")).to_contain_text("of host elsewhere.page.test, partition")
    page.get_by_label("URL").fill("http://[broken")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("is no URL that could be crawled")


def test_hostile_text_is_text(page: Page) -> None:
    """Markup in titles, texts and errors is shown as it is, and none of it becomes an element or runs."""
    view(page, "documents")
    shown = page.locator("details", has_text="owned")
    shown.locator("summary").click()
    expect(shown.locator(".text")).to_contain_text(HOSTILE)
    view(page, "dead-letters")
    page.locator("details", has_text="undecodable").first.click()
    expect(page.locator("dd", has_text="owned").first).to_be_visible()
    assert page.locator("main img, main script").count() == 0
    assert page.title() == "Dead letters - Odradek"


def test_without_the_token_the_page_reads_and_asks_for_it(scene: Scene, browser: Browser) -> None:
    """A handle that is used without it asks; a wrong one asks again; the right one does what was wanted."""
    with opened(browser, f"{scene.url}/#/crawls") as page:
        page.get_by_role("button", name=f"Pause {CRAWL}").click()
        page.get_by_role("textbox", name="Token").fill("wrong")
        page.get_by_role("button", name="Keep").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        page.get_by_role("textbox", name="Token").fill(scene.token)
        page.get_by_role("button", name="Keep").click()
        page.get_by_role("button", name=f"Resume {CRAWL}").click()
        expect(page.get_by_role("button", name=f"Pause {CRAWL}")).to_be_visible()


def test_errors_are_shown(page: Page) -> None:
    """SQL that nobody can answer says why, and an order that is refused says why."""
    view(page, "sql")
    page.get_by_label("Statement").fill("DROP TABLE documents")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("DROP begins no statement that reads")
    view(page, "hosts")
    page.get_by_role("button", name=f"Delay {HOST}").click()
    page.get_by_label("Seconds").evaluate("input => { input.removeAttribute('max'); input.value = '1e9'; }")
    page.get_by_role("button", name="Order", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("delay takes an amount from 0 to 86400")


def test_the_theme_is_the_readers(page: Page) -> None:
    """Automatic, light or dark, and kept over a reload."""
    page.get_by_role("button", name="Theme: auto").click()
    page.get_by_role("button", name="Theme: light").click()
    page.reload()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 19, 24)"
