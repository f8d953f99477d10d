"""A page that takes its process with it costs that page alone."""

import asyncio
import os
import signal
from datetime import timedelta
from io import BytesIO

from stream_pages import NOW, page

from streams.clean import Cleaned, clean, finish
from streams.isolation import Isolation, serve
from streams.opened import Way, open_page

WAY = Way("odradek", obey=True)
LARGE = (
    b"<title>T</title>" + b"<div><p>some text</p></div>\n" * 9_000 + b"<a href=/x>l</a><a rel=nofollow href=/y>m</a>"
)


def same(one: Cleaned, other: Cleaned) -> bool:
    """Whether document and links to follow agree."""
    return one == other


def test_a_large_page_is_costly_and_an_ordinary_one_is_not() -> None:
    """By its decoded size, and only where it would be parsed."""
    assert open_page(page(LARGE)).costly
    assert not open_page(page(LARGE, "Content-Type: text/plain")).costly
    assert not open_page(page(LARGE[:20_000])).costly


def test_another_process_gives_the_same_document() -> None:
    """One after the other, also at the same time, in one process."""

    async def run() -> None:
        isolation = Isolation(timedelta(seconds=30), 1_024)
        try:
            opened = [open_page(page(LARGE + b"%d" % number)) for number in range(3)]
            found = await asyncio.gather(*(isolation.clean(each, WAY, NOW) for each in opened))
            for each, result in zip(opened, found, strict=True):
                assert same(result, finish(each, WAY, NOW))
                assert [url.href for url in result.follow] == ["http://h.test/x"]
            pid = isolation.pid
            await isolation.clean(opened[0], WAY, NOW)
            assert isolation.pid == pid
        finally:
            await isolation.close()

    asyncio.run(run())


def test_a_killed_process_costs_its_page_alone() -> None:
    """Kill -9 in the middle: the page is read by patterns and marked, the next one by a new process."""

    async def run() -> None:
        isolation = Isolation(timedelta(seconds=30), 1_024)
        try:
            await isolation.clean(open_page(page(LARGE)), WAY, NOW)
            first = isolation.pid
            assert first is not None
            os.kill(first, signal.SIGSTOP)
            waiting = asyncio.create_task(isolation.clean(open_page(page(LARGE)), WAY, NOW))
            await asyncio.sleep(0.05)
            os.kill(first, signal.SIGKILL)
            result = await waiting
            assert result.document.flags == ["huge", "cleaner_died"]
            assert (result.document.title, result.document.links) == ("T", ["http://h.test/x", "http://h.test/y"])
            assert "some text" in result.document.text
            assert same(
                await isolation.clean(open_page(page(LARGE)), WAY, NOW),
                clean(page(LARGE), "odradek", obey=True, now=NOW),
            )
            assert isolation.pid not in (None, first)
        finally:
            await isolation.close()

    asyncio.run(run())


def test_a_page_that_takes_too_long_is_given_up() -> None:
    """The process is killed, and the page read by patterns."""

    async def run() -> None:
        isolation = Isolation(timedelta(milliseconds=1), 1_024)
        result = await isolation.clean(open_page(page(LARGE)), WAY, NOW)
        assert "cleaner_died" in result.document.flags
        assert isolation.pid is None

    asyncio.run(run())


def test_a_process_that_cannot_have_the_memory_is_given_up() -> None:
    """With less than an interpreter with its libraries needs, every page is read by patterns."""

    async def run() -> None:
        isolation = Isolation(timedelta(seconds=30), 64)
        try:
            assert "cleaner_died" in (await isolation.clean(open_page(page(LARGE)), WAY, NOW)).document.flags
        finally:
            await isolation.close()

    asyncio.run(run())


def test_the_process_ends_with_its_input() -> None:
    """Also when the worker died in the middle of a request."""
    for cut in (b"", b"\0\0", b"\0\0\0\2{}"):
        answers = BytesIO()
        serve(BytesIO(cut), answers)
        assert answers.getvalue() == b""
