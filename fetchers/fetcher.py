"""Fetch one URL: a request goes in, an attempt with exactly one outcome comes out."""

import asyncio
import time
from collections.abc import Callable

from aiohttp import ClientResponse

from fetchers.attempt import Attempt
from fetchers.body import Body, BodyLimits, read_body
from fetchers.codings import MAX_ROBOTS_BYTES, undo
from fetchers.connections import Connections
from fetchers.location import redirect_target
from fetchers.media import StoragePolicy, essence, looks_like_text
from fetchers.resolver import Dial
from fetchers.responses import Head
from fetchers.targets import TargetPolicy
from fetchers.verdicts import describe, of_exception, of_status
from infra.settings import FetcherSettings
from schemas.orders import Orders
from schemas.outcomes import Outcome
from schemas.records import Cut, Kind, Request
from schemas.url import InvalidUrl

_DRAINED_BYTES = 64 * 1024


class Fetcher:
    """Fetches within the limits of the settings. Holds no state of its own between requests."""

    def __init__(
        self, settings: FetcherSettings, connections: Connections, orders: Callable[[], Orders] = Orders
    ) -> None:
        """``orders`` gives those in force now: what was released before an order came is not fetched against it."""
        self._connections = connections
        self._orders = orders
        self._targets = TargetPolicy(settings.blocked_names, settings.blocked_ports)
        self._storage = StoragePolicy(settings.media_types)
        self._head_s = settings.head_timeout.total_seconds()
        self._total_s = settings.total_timeout.total_seconds()
        self._max_head_bytes = settings.max_head_kib * 1024
        self._page_limits = BodyLimits(
            settings.max_body_kib * 1024, settings.min_rate_bytes_s, settings.rate_grace.total_seconds()
        )
        self._robots_limits = self._page_limits._replace(max_bytes=MAX_ROBOTS_BYTES)
        # What is read only to keep the connection is not worth more than a new connection costs.
        self._drain_limits = self._page_limits._replace(max_bytes=_DRAINED_BYTES, grace_s=1.0)

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
        try:
            await self._exchange(request, attempt, dial, began_s)
        except Exception as error:
            # The border to the web: anything may come in, and each must end as an outcome.
            blocked = dial.blocked and not dial.tried
            attempt.fail(Outcome.BLOCKED_ADDRESS if blocked else of_exception(error), describe(error))
        attempt.total_ms = _since_ms(began_s)
        answered_ms = attempt.total_ms if attempt.first_byte_ms is None else attempt.first_byte_ms
        attempt.seen_s = began_s + answered_ms / 1_000
        attempt.remote_address = dial.remote_address
        attempt.dns_ms = None if dial.dns_s is None else dial.dns_s * 1_000
        attempt.connect_ms = None if dial.connect_s is None else dial.connect_s * 1_000
        return attempt

    async def _exchange(self, request: Request, attempt: Attempt, dial: Dial, began_s: float) -> None:
        conditions = _validators(request)
        async with asyncio.timeout(min(self._head_s, self._total_s)):
            response = await self._connections.get(request.url, conditions, dial)
        try:
            attempt.first_byte_ms = _since_ms(began_s)
            head = Head(response)
            attempt.status = response.status
            if len(head.raw) > self._max_head_bytes:
                attempt.fail(Outcome.PROTOCOL_ERROR, f"a response header of {len(head.raw)} bytes")
                return
            attempt.head = head.raw
            attempt.content_type = head.text(b"content-type")
            attempt.retry_after = head.text(b"retry-after")
            attempt.etag = head.text(b"etag")
            attempt.last_modified = head.text(b"last-modified")
            attempt.outcome = of_status(response.status, conditional=bool(conditions))
            await self._read(request, response, head, attempt, began_s + self._total_s)
        finally:
            # Returns the connection when the body was read to its end, closes it otherwise.
            response.close()

    async def _read(
        self, request: Request, response: ClientResponse, head: Head, attempt: Attempt, deadline_s: float
    ) -> None:
        if attempt.outcome is Outcome.REDIRECT:
            try:
                attempt.redirect_to = redirect_target(request.url, head.last(b"location"))
            except InvalidUrl as error:
                attempt.fail(Outcome.BAD_REDIRECT, f"Location: {error}")
        if attempt.outcome is not Outcome.OK:
            await self._drain(response, attempt, deadline_s)
        elif request.kind is Kind.ROBOTS:
            body = await read_body(response.content, self._robots_limits, deadline_s)
            _take(attempt, body)
            attempt.body = undo(attempt.body, head.codings())
        else:
            await self._read_page(response, head, attempt, deadline_s)

    async def _read_page(self, response: ClientResponse, head: Head, attempt: Attempt, deadline_s: float) -> None:
        kind = essence(head.texts(b"content-type"))
        if kind is not None and not self._storage.stores(kind):
            attempt.fail(Outcome.SKIPPED, f"media type {kind}")
            await self._drain(response, attempt, deadline_s)
            return
        _take(attempt, await read_body(response.content, self._page_limits, deadline_s))
        if kind is None and not head.codings() and not looks_like_text(attempt.body):
            attempt.fail(Outcome.SKIPPED, "no media type declared and the body is binary")

    async def _drain(self, response: ClientResponse, attempt: Attempt, deadline_s: float) -> None:
        """Read what little is left, so that the connection serves again; leave more than that unread."""
        length = response.content_length
        # A skipped body of unknown length may be a film; an error page of unknown length is mostly short.
        if (length or 0) <= _DRAINED_BYTES and not (length is None and attempt.outcome is Outcome.SKIPPED):
            attempt.body_bytes = len((await read_body(response.content, self._drain_limits, deadline_s)).data)


def _take(attempt: Attempt, body: Body) -> None:
    """Judge a body: what came before a cut is kept; an end by an error with nothing before it is a failure."""
    attempt.body_bytes = len(body.data)
    attempt.body, attempt.cut = body.data, body.cut
    if body.error is None:
        return
    if body.cut is None:
        attempt.fail(Outcome.PROTOCOL_ERROR, describe(body.error))
    elif not body.data:
        attempt.fail(Outcome.TIMEOUT if body.cut is Cut.TIME else Outcome.DISCONNECT, describe(body.error))
    else:
        attempt.error = describe(body.error)


def _validators(request: Request) -> dict[str, str]:
    """Headers of a conditional request (RFC 9110, 13.1)."""
    headers = {}
    if request.etag and request.etag.isascii() and request.etag.isprintable():
        headers["If-None-Match"] = request.etag
    if request.last_modified and request.last_modified.isascii() and request.last_modified.isprintable():
        headers["If-Modified-Since"] = request.last_modified
    return headers


def _since_ms(began_s: float) -> float:
    return (time.monotonic() - began_s) * 1_000
