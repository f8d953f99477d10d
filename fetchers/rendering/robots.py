"""Whether a page may have what it asks for, by the robots.txt of wherever that is.

The frontier has asked for the page itself; the hosts of its parts it may not even know. So each renderer reads their
robots.txt itself, once a day for each origin, and keeps the newest few thousand. One that cannot be had allows nothing.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from fetchers.attempt import Attempt
from schemas.outcomes import Outcome
from schemas.records import Cut, Kind, Request
from schemas.robots import ALLOW_ALL, permits, text_of
from schemas.url import Url, split, url_id

_ORIGINS = 5_000
_HOPS = 5
_AGAIN_S = 60.0
"""After a robots.txt that could not be had."""


class PartRules:
    """The rules of the origins that pages have asked lately."""

    def __init__(self, fetch: Callable[[Request], Awaitable[Attempt]], token: str, fresh_s: float) -> None:
        self._fetch = fetch
        self._token = token
        self._fresh_s = fresh_s
        self._known: OrderedDict[str, tuple[float, str | None]] = OrderedDict()
        self._asked: dict[str, asyncio.Task[str | None]] = {}

    async def allow(self, url: Url, page: Request) -> bool:
        """Whether ``url`` may be asked for on behalf of a page."""
        text = await self._text(url.origin, page)
        return text is not None and permits(text, url.href, self._token)

    async def _text(self, origin: str, page: Request) -> str | None:
        """The rules of an origin; ``None`` when they cannot be had."""
        known = self._known.get(origin)
        if known is not None and known[0] > time.monotonic():
            self._known.move_to_end(origin)
            return known[1]
        task = self._asked.get(origin)
        if task is None:
            task = self._asked[origin] = asyncio.get_running_loop().create_task(self._ask(origin, page))
            task.add_done_callback(lambda _: self._asked.pop(origin, None))
        # Other pages wait for the same answer: one whose time is up must not take it from them.
        return await asyncio.shield(task)

    async def _ask(self, origin: str, page: Request) -> str | None:
        text = await self._read(f"{origin}/robots.txt", page)
        self._known[origin] = time.monotonic() + (_AGAIN_S if text is None else self._fresh_s), text
        if len(self._known) > _ORIGINS:
            self._known.popitem(last=False)
        return text

    async def _read(self, href: str, page: Request) -> str | None:
        for _ in range(_HOPS + 1):
            about = {"url": href, "url_id": url_id(href), "host": split(href).host, "kind": Kind.ROBOTS}
            attempt = await self._fetch(page.model_copy(update=about | {"etag": None, "last_modified": None}))
            if attempt.outcome in (Outcome.CLIENT_ERROR, Outcome.SKIPPED):
                return ALLOW_ALL
            if attempt.outcome is Outcome.OK and attempt.cut in (None, Cut.LENGTH):
                return text_of(attempt.body)
            if attempt.outcome is not Outcome.REDIRECT or attempt.redirect_to is None:
                return None
            href = attempt.redirect_to
        # A chain without end is no answer, and no answer is no permission.
        return None
