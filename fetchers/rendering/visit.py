"""One page in the browser: its document is laid before it, its scripts run, what stands there then is taken."""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from fetchers.rendering.browser import BrowserLost
from fetchers.rendering.parts import Budget, Given, Part, Parts, Refused
from infra.settings.rendering import RenderingSettings
from schemas.records import Cut, Request

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, CDPSession, Frame, Page, Route

_LOOK_S = 0.05
_OPEN_S = 15.0
_ANSWER_S = 2.0
_TRIES = 3
_CRASHED = "the page has crashed, or took too much memory"
# Serialised where the page's own scripts cannot reach, and cut there: a page may be larger than what we could take.
_TAKE = """(limit => {
  const root = document.documentElement, type = document.doctype ? "<!DOCTYPE html>" : "";
  return root ? (type + root.outerHTML).slice(0, limit) : "";
})(%d)"""


class Failed(Exception):
    """The page cannot be rendered."""


class _Elsewhere(Exception):
    """The page leads elsewhere, and stays where it is."""


class Taken(NamedTuple):
    """What stood there in the end."""

    html: str
    cut: Cut | None
    moved_to: str | None
    """Where its scripts have led, when they left before it was finished; then there is no page."""


@dataclass
class Visit:
    """One page. Made for one rendering, and used up by it."""

    request: Request
    document: Given
    parts: Parts
    budget: Budget
    settings: RenderingSettings
    max_chars: int
    moved_to: str | None = None
    crashed: bool = False
    loaded_s: float | None = None
    busy: int = 0
    asked_s: float = field(default_factory=time.monotonic)
    _laid: bool = False

    async def take(self, context: "BrowserContext") -> Taken:
        """Render it. Raises :class:`Failed`, or :class:`BrowserLost` when it is the browser that fails."""
        try:
            async with asyncio.timeout(_OPEN_S + self.settings.timeout.total_seconds() + 4 * _ANSWER_S * _TRIES):
                return await self._take(context)
        except TimeoutError:
            raise BrowserLost("the browser does not answer") from None
        except (Failed, BrowserLost):
            raise
        except Exception as error:
            # Playwright's own errors: the page was closed or has crashed, or the browser has.
            if self.crashed:
                raise Failed(_CRASHED) from None
            raise BrowserLost(f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}") from None

    async def _take(self, context: "BrowserContext") -> Taken:
        page = await context.new_page()
        # Whatever opens from here on was opened by the page.
        context.on("page", _close)
        page.on("crash", lambda _page: self._crash())
        page.on("load", lambda _page: self._load())
        session = await context.new_cdp_session(page)

        async def answer(route: "Route") -> None:
            await self._answer(route, page)

        await context.route("**/*", answer)
        opening = asyncio.ensure_future(page.goto(self.request.url, wait_until="commit"))
        try:
            is_over = await self._settle(page)
        finally:
            opening.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await opening
        if self.crashed:
            raise Failed(_CRASHED)
        if self.moved_to is not None:
            return Taken("", None, self.moved_to)
        html, is_forced = await self._read(session, page, is_over)
        if not html:
            raise Failed("nothing stands there")
        if len(html) > self.max_chars:
            return Taken(html[: self.max_chars], Cut.LENGTH, None)
        return Taken(html, Cut.TIME if is_forced else None, None)

    async def _settle(self, page: "Page") -> bool:
        """Wait until the page is finished; whether its time was over first."""
        opened_s = time.monotonic()
        quiet_s, restless_s = self.settings.quiet.total_seconds(), self.settings.restless.total_seconds()
        while (now_s := time.monotonic()) < self.budget.end_s:
            if not self._laid and now_s - opened_s > _OPEN_S:
                raise BrowserLost("the browser opens no page")
            if self.crashed or self.moved_to is not None:
                return False
            if self.loaded_s is not None:
                is_quiet = not self.busy and now_s - max(self.loaded_s, self.asked_s) >= quiet_s
                if is_quiet or now_s - self.loaded_s >= restless_s:
                    return False
            if page.is_closed():
                raise BrowserLost("the browser has ended")
            await asyncio.sleep(_LOOK_S)
        return True

    async def _read(self, session: "CDPSession", page: "Page", is_over: bool) -> tuple[str, bool]:
        """The document as it stands; whether its scripts were ended for it."""
        for tried in range(_TRIES):
            if self.crashed or page.is_closed():
                break
            if is_over or tried:
                await _end_scripts(session)
            frame = (await _within(session.send("Page.getFrameTree")) or {}).get("frameTree", {}).get("frame", {})
            world = await _within(session.send("Page.createIsolatedWorld", {"frameId": frame.get("id", "")}))
            if world is None:
                continue
            found = await _within(
                session.send(
                    "Runtime.evaluate",
                    {
                        "contextId": world["executionContextId"],
                        "expression": _TAKE % (self.max_chars + 1),
                        "returnByValue": True,
                        "timeout": _ANSWER_S * 1_000,
                    },
                )
            )
            if found is not None and isinstance(html := found.get("result", {}).get("value"), str):
                return html, is_over or bool(tried)
        if page.is_closed():
            raise BrowserLost("the browser has ended")
        raise Failed(_CRASHED if self.crashed else "its scripts hold it and do not end")

    async def _answer(self, route: "Route", page: "Page") -> None:
        """Whatever is asked for in this context. Nothing goes on to the browser's own network."""
        self.busy += 1
        try:
            asked = route.request
            if asked.is_navigation_request():
                given = self._navigate(_frame(route), page, asked.url)
            else:
                part = Part(asked.method, asked.url, asked.resource_type, asked.headers, asked.post_data_buffer or b"")
                given = await self.parts.give(part, self.request, self.budget)
            await route.fulfill(status=given.status, headers=given.headers, body=given.body)
        except _Elsewhere:
            # By this error a navigation leaves what stands there alone; by others it shows that it has failed.
            with suppress(Exception):
                await route.abort("aborted")
        except Refused:
            with suppress(Exception):
                await route.abort("blockedbyclient")
        except Exception:
            # The page is gone, or asks for what Playwright cannot tell: it gets nothing.
            with suppress(Exception):
                await route.abort("failed")
        finally:
            self.busy -= 1
            self.asked_s = time.monotonic()

    def _navigate(self, frame: "Frame | None", page: "Page", url: str) -> Given:
        """The document is there already. Frames within it and windows beside it get nothing."""
        if frame is None or frame != page.main_frame:
            raise Refused("a frame or a window")
        if not self._laid:
            self._laid = True
            self.budget.end_s = time.monotonic() + self.settings.timeout.total_seconds()
            return self.document
        if url.partition("#")[0] != self.request.url:
            self.moved_to = url
        raise _Elsewhere

    def _crash(self) -> None:
        self.crashed = True

    def _load(self) -> None:
        self.loaded_s = self.loaded_s or time.monotonic()


def _frame(route: "Route") -> "Frame | None":
    try:
        return route.request.frame
    except Exception:
        # A window that has no page yet.
        return None


async def _close(popup: "Page") -> None:
    with suppress(Exception):
        await popup.close()


async def _end_scripts(session: "CDPSession") -> None:
    """End the script that runs, and let none run after it: the second waits for the first, so it is said before."""
    await asyncio.gather(
        _within(session.send("Emulation.setScriptExecutionDisabled", {"value": True})),
        _within(session.send("Runtime.terminateExecution")),
    )


async def _within(work: Any) -> Any:
    """The answer, if it comes in time."""
    try:
        async with asyncio.timeout(_ANSWER_S):
            return await work
    except Exception:
        # A page that hangs does not answer, one whose script was ended in the middle says so: both are asked again.
        return None
