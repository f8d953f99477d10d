"""Fetch one URL: a request goes in, an attempt with exactly one outcome comes out."""

import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Literal

from fetchers.answers import LEAVE_UNREAD, Answer
from fetchers.attempt import Attempt
from fetchers.codings import MAX_ROBOTS_BYTES, read_robots
from fetchers.connection import Patience
from fetchers.connections import Connections
from fetchers.dialler import Dial
from fetchers.headers import RequestHeaders
from fetchers.heads import Head, is_whole
from fetchers.location import redirect_target
from fetchers.media import RENDERED_TYPES, Keeping, MediaPolicy, declared_type, sniff
from fetchers.rendering.detection import SCANNED_BYTES, needs_browser
from fetchers.targets import TargetPolicy
from fetchers.verdicts import describe, of_exception, of_status
from infra.settings import Settings
from schemas.codings import declared, undo
from schemas.orders import Orders
from schemas.outcomes import Outcome
from schemas.records import Cut, Kind, Request
from schemas.url import InvalidUrl, split

HEAD_ONLY = Keeping("head", 0)

_DRAINED_BYTES = 64 * 1024
"""What is read only to keep the connection is not worth more than a new connection costs."""


class Fetcher:
    """Fetches within the limits of the settings. Holds no state of its own between requests."""

    def __init__(
        self,
        settings: Settings,
        connections: Connections,
        orders: Callable[[], Orders] = Orders,
        *,
        detect: bool = False,
    ) -> None:
        """``orders`` gives those in force now: what was released before an order came is not fetched against it.

        With ``detect``, pages that show nothing without their scripts are told from others, and given up.
        """
        self._connections = connections
        self._orders = orders
        self._detect = detect
        self.headers = RequestHeaders(settings)
        self.reconfigure(settings)

    def reconfigure(self, settings: Settings) -> None:
        """Fetch within these limits from the next request on."""
        wanted = settings.fetchers
        self._targets = TargetPolicy(wanted.blocked_names, wanted.blocked_ports)
        self._total_s = wanted.total_timeout.total_seconds()
        self._head_s = min(wanted.head_timeout.total_seconds(), self._total_s)
        self._rate = wanted.min_rate_bytes_s, wanted.rate_grace.total_seconds()
        self._max_body_bytes = wanted.max_body_kib * 1024
        self._media = MediaPolicy(wanted.media, wanted.media_types, self._max_body_bytes)

    async def fetch(self, request: Request) -> Attempt:
        """Try once. Never raises but when cancelled: whatever happens is the attempt's outcome."""
        attempt = Attempt()
        began_s = time.monotonic()
        refusal = self._targets.refusal(request.url)
        if refusal is not None:
            attempt.fail(Outcome.BLOCKED_ADDRESS, refusal)
            return attempt
        ordered = self._orders().refusal(request.crawl, request.host, request.url)
        if ordered is not None and request.kind is Kind.PAGE:
            attempt.fail(Outcome.SKIPPED, f"{ordered} by order")
            return attempt
        dial = Dial()
        url = split(request.url)
        sent = self.headers.of(url, request)

        def judge(head: Head) -> int:
            self.headers.hear(url, request, head)
            return self._judge(request, head, attempt, conditional=sent.conditional)

        patience = Patience(began_s + self._head_s, began_s + self._total_s, *self._rate)
        try:
            answer = await self._connections.ask(url, sent.raw, judge, patience, dial)
            _note_times(attempt, began_s, answer)
            self._take(request, attempt, answer)
        except Exception as error:
            # The border to the web: anything may come in, and each must end as an outcome.
            attempt.fail(of_exception(error), describe(error))
            _note_times(attempt, began_s, None)
        attempt.note(dial)
        return attempt

    def _judge(self, request: Request, head: Head, attempt: Attempt, *, conditional: bool) -> int:
        """Note what the header says; how much of the body is wanted."""
        attempt.status = head.status
        attempt.head = head.raw
        attempt.protocol = f"HTTP/{head.version[0]}.{head.version[1]}"
        attempt.content_type = head.text(b"content-type")
        attempt.retry_after = head.text(b"retry-after")
        attempt.etag = head.text(b"etag")
        attempt.last_modified = head.text(b"last-modified")
        attempt.outcome = of_status(head.status, conditional=conditional)
        if attempt.outcome is Outcome.REDIRECT:
            try:
                attempt.redirect_to = redirect_target(request.url, head.values(b"location"))
            except InvalidUrl as error:
                attempt.fail(Outcome.BAD_REDIRECT, f"Location: {error}")
        if attempt.outcome is not Outcome.OK:
            return _DRAINED_BYTES
        if request.kind is Kind.ROBOTS:
            return MAX_ROBOTS_BYTES
        kind = declared_type(head.texts(b"content-type"))
        if kind is None:
            return self._max_body_bytes
        length = head.framing()
        keeping = self._media.of(kind, length if length >= 0 else None)
        if keeping.what == "store":
            attempt.keeping = keeping
            return keeping.max_bytes
        _keep_no_body(attempt, keeping.what, f"media type {kind}")
        # What is not wanted and of unknown length may be a film.
        return _DRAINED_BYTES if 0 <= length <= _DRAINED_BYTES else LEAVE_UNREAD

    def _take(self, request: Request, attempt: Attempt, answer: Answer) -> None:
        """Judge what came: what came before a cut is kept; an end by an error with nothing before it is a failure."""
        attempt.body_bytes = len(answer.body)
        if answer.head is None:
            error = answer.error or RuntimeError("an exchange without an answer")
            attempt.fail(of_exception(error), describe(error))
            return
        if attempt.outcome is not Outcome.OK or attempt.keeping is HEAD_ONLY:
            return
        attempt.body, attempt.cut = bytes(answer.body), answer.cut
        if answer.cut is Cut.LENGTH and attempt.keeping is not None and attempt.keeping.larger != "cut":
            _keep_no_body(attempt, attempt.keeping.larger, f"more than {attempt.keeping.max_bytes} bytes of its type")
            return
        if answer.error is not None:
            if answer.cut is None or not attempt.body:
                attempt.fail(of_exception(answer.error), describe(answer.error))
                return
            attempt.error = describe(answer.error)
        if attempt.status == HTTPStatus.PARTIAL_CONTENT and not is_whole(answer.head):
            # Nobody asked for a part.
            attempt.cut = attempt.cut or Cut.LENGTH
        codings = answer.head.texts(b"content-encoding")
        if request.kind is Kind.ROBOTS:
            text = read_robots(attempt.body, codings)
            attempt.body = text.body
            # The first cut counts: what the network took away, no coding can end well.
            attempt.cut = attempt.cut or (None if text.is_whole else Cut.DECODE)
            return
        self._look(attempt, codings)

    def _look(self, attempt: Attempt, codings: list[str]) -> None:
        """Judge by the body what the header does not tell."""
        # What is coded looks binary: the cleaners judge it once it is undone.
        if attempt.keeping is None and not declared(codings):
            kind = sniff(attempt.body)
            keeping = self._media.of(kind, len(attempt.body))
            if keeping.what != "store":
                _keep_no_body(attempt, keeping.what, f"no media type declared, by its first bytes {kind}")
                return
            if len(attempt.body) > keeping.max_bytes:
                attempt.body, attempt.cut = attempt.body[: keeping.max_bytes], Cut.LENGTH
        if self._detect and _is_empty_frame(attempt, codings):
            attempt.fail(Outcome.NEEDS_BROWSER, "the page shows nothing before its scripts have run")


def _is_empty_frame(attempt: Attempt, codings: list[str]) -> bool:
    if (declared_type([attempt.content_type or ""]) or sniff(attempt.body)) not in RENDERED_TYPES:
        return False
    return needs_browser(undo(attempt.body, declared(codings), SCANNED_BYTES).body)


def _keep_no_body(attempt: Attempt, what: Literal["head", "skip"], why: str) -> None:
    """No page, or one of the header alone, marked as cut."""
    if what == "skip":
        attempt.fail(Outcome.SKIPPED, why)
        return
    attempt.keeping, attempt.body, attempt.cut = HEAD_ONLY, b"", Cut.LENGTH


def _note_times(attempt: Attempt, began_s: float, answer: Answer | None) -> None:
    now_s = time.monotonic()
    attempt.total_ms = (now_s - began_s) * 1_000
    attempt.seen_s = now_s
    if answer is not None and answer.first_s:
        attempt.first_byte_ms = (answer.first_s - began_s) * 1_000
        # The host may have seen the request as late as it began to answer.
        attempt.seen_s = answer.first_s
