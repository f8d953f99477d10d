"""Fetch one URL and render what came: a request goes in, an attempt with exactly one outcome comes out."""

import time
from contextlib import suppress

from fetchers.attempt import Attempt
from fetchers.fetcher import Fetcher
from fetchers.heads import Head
from fetchers.media import RENDERED_TYPES, declared_type, sniff
from fetchers.rendering.browser import Browser, BrowserLost
from fetchers.rendering.parts import Budget, Given, Parts, passed_on
from fetchers.rendering.visit import Failed, Taken, Visit
from infra.settings import Settings
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.rendering import PageNotRendered, PageRendered
from schemas.codings import declared, undo
from schemas.outcomes import Outcome
from schemas.records import Cut, Kind, Request
from schemas.url import InvalidUrl, canonicalize

_REPLACED = (b"content-type:", b"content-encoding:", b"content-length:", b"transfer-encoding:", b"etag:")


class Renderer:
    """Fetches as the fetchers do, and renders HTML."""

    def __init__(self, settings: Settings, fetcher: Fetcher, parts: Parts, browser: Browser) -> None:
        self._rendering = settings.rendering
        self._fetcher = fetcher
        self._parts = parts
        self._browser = browser
        self._max_bytes = settings.fetchers.max_body_kib * 1024

    def reconfigure(self, settings: Settings) -> None:
        """Keep within these limits from the next attempt on."""
        self._fetcher.reconfigure(settings)
        self._max_bytes = settings.fetchers.max_body_kib * 1024

    async def fetch(self, request: Request) -> Attempt:
        """Try once. Never raises but when cancelled, or when there is no browser to be had (:class:`UserError`).

        A page that cannot be rendered is given as it came, and its error says why.
        """
        attempt = await self._fetcher.fetch(request)
        is_page = attempt.outcome is Outcome.OK and request.kind is Kind.PAGE and attempt.body
        if not is_page or (declared_type([attempt.content_type or ""]) or sniff(attempt.body)) not in RENDERED_TYPES:
            return attempt
        began_s = time.monotonic()
        head = Head(attempt.head.removesuffix(b"\r\n"))
        coded = declared(head.texts(b"content-encoding"))
        document = Given(attempt.status or 200, passed_on(head), undo(attempt.body, coded, self._max_bytes).body)
        try:
            taken, budget = await self._take(request, document)
        except (Failed, BrowserLost) as error:
            attempt.error = f"not rendered: {error}"
            emit(PageNotRendered(request.url, str(error)))
        else:
            self._note(attempt, head, taken)
            emit(PageRendered(request.url, time.monotonic() - began_s, budget.given, budget.refused, taken.cut))
        # What the page has asked for may have come from its own host until now.
        attempt.seen_s = time.monotonic()
        return attempt

    async def _take(self, request: Request, document: Given) -> tuple[Taken, Budget]:
        """Render it; where the browser was lost on the way, once more in the next one: that may be another's fault."""
        try:
            return await self._visit(request, document)
        except BrowserLost:
            await self._browser.lost()
        try:
            return await self._visit(request, document)
        except BrowserLost:
            await self._browser.lost()
            raise

    async def _visit(self, request: Request, document: Given) -> tuple[Taken, Budget]:
        budget = Budget(self._rendering.max_requests, self._rendering.max_total_kib * 1024)
        async with self._browser.context() as context:
            visit = Visit(request, document, self._parts, budget, self._rendering, self._max_bytes)
            return await visit.take(context), budget

    def _note(self, attempt: Attempt, head: Head, taken: Taken) -> None:
        if taken.moved_to is not None:
            # What a script leads to is what a Location names: a result, followed by the frontier.
            with suppress(InvalidUrl):
                target = canonicalize(taken.moved_to).href
                attempt.fail(Outcome.REDIRECT, "by a script")
                attempt.redirect_to = target
            return
        body = taken.html.encode("utf-8", "replace")
        attempt.body = body[: self._max_bytes]
        attempt.cut = Cut.LENGTH if len(body) > self._max_bytes else taken.cut or attempt.cut
        attempt.head = rendered_head(head)
        attempt.rendered = True


def rendered_head(head: Head) -> bytes:
    """The header of what a page has become: HTML in UTF-8 without any coding; the rest as it came."""
    lines = [line for line in head.raw.split(b"\r\n") if line and not line.lower().startswith(_REPLACED)]
    return b"\r\n".join([*lines, b"Content-Type: text/html; charset=utf-8", b""])
