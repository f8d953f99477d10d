"""Debian's Chromium, driven by Playwright: a page that reports every error of its console."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

CHROMIUM = "/usr/bin/chromium"
PHONE, DESK = ViewportSize(width=390, height=844), ViewportSize(width=1280, height=900)
SCREENSHOTS = os.environ.get("ODRADEK_SCREENSHOTS")
"""A directory: then every view is kept there as a picture, for people to look at."""

Theme = Literal["light", "dark"]


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window. Skips where there is none."""
    if shutil.which(CHROMIUM) is None:
        pytest.skip("the page is tested in Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        # As root, as in a container, Chromium refuses its own sandbox; it opens nothing but our page.
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--disable-gpu", *sandbox])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, address: str, *, phone: bool = False, theme: Theme = "light") -> Iterator[Page]:
    """The page at ``address``; fails at the end when the console told of an error."""
    context = browser.new_context(viewport=PHONE if phone else DESK, color_scheme=theme, reduced_motion="reduce")
    context.set_default_timeout(30_000)
    page = context.new_page()
    errors: list[str] = []
    expected: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on(
        "response",
        lambda answer: (
            expected.append(answer.url) if answer.status in (400, 401, 503) and "/api/" in answer.url else None
        ),
    )
    try:
        page.goto(address)
        yield page
        origin = address.partition("/#")[0]
        assert [url for url in asked if not url.startswith(f"{origin}/")] == [], "an asset of elsewhere"
        # The browser itself reports each answer that is no success; those the page shows to its reader.
        unexpected = [error for error in errors if not (expected and "Failed to load resource" in error)]
        assert unexpected == []
    finally:
        context.close()


def accessible(page: Page) -> None:
    """Fails on anything that axe finds: WCAG 2.2 A and AA, and its best practices."""
    found: Any = Axe().run(page).response
    told = [
        f"{each['id']}: {each['help']}: {[node['html'][:160] for node in each['nodes'][:3]]}"
        for each in found["violations"]
    ]
    assert told == []


def picture(page: Page, name: str) -> None:
    """Keep what is shown, where somebody wants to look at it."""
    if SCREENSHOTS:
        Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=f"{SCREENSHOTS}/{name}.png", full_page=True)


def fits(page: Page) -> None:
    """Fails when the page is wider than its window."""
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"{wide} pixels too wide"
