"""Cleaners of other packages, and rules, in the process that can be killed."""

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from stream_pages import NOW, page

from infra.errors import UserError
from schemas.records import Document
from streams.clean import VERSION, finish
from streams.cleaners import Cleaners, Seen, installed
from streams.isolation import Isolation
from streams.opened import Way, open_page
from streams.rules.compiled import Rules
from streams.rules.reading import read
from streams.rules.values import Value
from streams.sites import Sites

PACKAGE = """
import time

class Shop:
    name, version, hosts = "shop", "7", ["*.test"]
    def read(self, page):
        if "sleep" in page.url:
            time.sleep(60)
        return {"title": page.title.upper(), "sku": page.tree.css_first("i").text(), "stock": [1, 2.5, True]}
"""


class Given:
    """A cleaner that says what it is told to."""

    name, version, hosts = "given", "1", ("h.test",)

    def __init__(self, say: Callable[[Seen], Mapping[str, Any]]) -> None:
        self._say = say

    def read(self, page: Seen) -> Mapping[str, Value]:
        return self._say(page)


def cleaned(say: Callable[[Seen], Mapping[str, Any]], rules: str = "") -> Document:
    """A page read by a cleaner of ours."""
    sites = Sites(Rules(read({"": rules})), Cleaners([Given(say)]))
    way = Way("odradek", obey=True, sites=sites)
    opened = open_page(page(b"<title>T</title><p>text<i>5</i>"))
    assert way.apart(opened)
    return finish(opened, way, NOW).document


def install(directory: Path, text: str, place: str) -> None:
    """A package with a cleaner, as an installer would leave it."""
    (directory / "odradek_shop.py").write_text(text)
    info = directory / "odradek_shop-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odradek-shop\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[odradek.cleaners]\nshop = {place}\n")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that this process and those it starts import from."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "odradek_shop", raising=False)
    return tmp_path


def test_a_cleaner_adds_fields_and_is_named() -> None:
    """What it says stands where rules found nothing, with its name and version as the source and in the document."""
    rules = '[a]\nhosts = ["h.test"]\nfields.sku.css = "i"\n'
    document = cleaned(lambda seen: {"title": f"{seen.title} at {seen.url}", "sku": 1, "other": (1, 2)}, rules)
    assert document.title == "T at http://h.test/dir/page?q=1"
    assert json.loads(document.extracted) == {"sku": "5", "other": [1, 2]}
    assert document.sources["title"] == "cleaner given/1"
    assert document.sources["sku"] == "rule a: css i"
    assert (document.cleaner, document.flags) == (f"{VERSION}+given/1", [])


@pytest.mark.parametrize(
    "said",
    [
        {"x": None},
        {"x": float("nan")},
        {"x": 2**63},
        {"x": {"a": 1}},
        {"x": ["a", ["b"]]},
        {"No Name": 1},
        {"title": 1},
        {"title": ["a"]},
        {"url": "http://x/"},
        {1: 2},
        {"x": "a" * 300_000},
        None,
    ],
)
def test_what_a_cleaner_gets_wrong_is_a_flag(said: Any) -> None:
    """No value, a column that is not its own, too much, no fields at all, an exception: the page is cleaned without."""

    def refuse(_: Seen) -> Mapping[str, Any]:
        raise SystemError

    for say in (lambda _: said, refuse):
        document = cleaned(say)
        assert set(document.flags) & {"custom_cleaner_failed", "extracted_left_out"}
        assert (document.title, document.extracted, document.text) == ("T", "{}", "text5")
        assert document.url == "http://h.test/dir/page?q=1"


def test_installed_cleaners_read_pages_in_the_other_process(packages: Path) -> None:
    """The worker knows for which hosts; the process has the same, and rules as they change; a hang costs its page."""
    install(packages, PACKAGE, "odradek_shop:Shop")
    cleaners = installed()

    async def run() -> None:
        isolation = Isolation(timedelta(seconds=20), 1_024)
        try:
            for number in (1, 2, 2, 3):
                rules = Rules(read({"": f'[r]\nhosts = ["h.test"]\nfields.n{number}.css = "b"\n'}))
                opened, way = open_page(page(body)), Way("odradek", obey=True, sites=Sites(rules, cleaners))
                assert way.apart(opened)
                found = await isolation.clean(opened, way, NOW)
                assert found == finish(opened, way, NOW)
                assert (found.document.title, found.document.rules) == ("TITLE", rules.version)
                assert json.loads(found.document.extracted) == {f"n{number}": "B", "sku": "I", "stock": [1, 2.5, True]}
            hasty = Isolation(timedelta(seconds=2), 1_024)
            slow = open_page(page(body, url="http://h.test/sleep"))
            document = (await hasty.clean(slow, way, NOW)).document
            assert (document.title, document.extracted) == ("Title", "{}")
            assert document.flags == ["huge", "cleaner_died"]
        finally:
            await isolation.close()

    body = b"<title>Title</title><p><b>B</b><i>I</i>"
    asyncio.run(_bounded(run))


async def _bounded(run: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async with asyncio.timeout(60):
        await run()


@pytest.mark.parametrize("place", ["odradek_shop:Missing", "odradek_shop:time", "no_such_module:X"])
def test_a_cleaner_that_cannot_be_used_is_the_users_to_mend(packages: Path, place: str) -> None:
    """It is named; a worker does not begin without it."""
    install(packages, PACKAGE, place)
    with pytest.raises(UserError, match="the cleaner shop"):
        installed()
