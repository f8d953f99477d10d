"""What a page asks for while it is rendered: fetched through the fetchers' connections, within the page's budget."""

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fetchers.answers import LEAVE_UNREAD
from fetchers.connection import Patience
from fetchers.connections import Connections
from fetchers.dialler import Dial
from fetchers.faults import Fault
from fetchers.headers import RequestHeaders
from fetchers.heads import Head
from fetchers.location import REDIRECT_STATUSES, redirect_target
from fetchers.rendering.robots import PartRules
from fetchers.targets import TargetPolicy
from infra.settings import Settings
from schemas.codings import declared, undo
from schemas.orders import Orders
from schemas.records import Request
from schemas.url import InvalidUrl, canonicalize, split

METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST"})
MAX_SENT_BYTES = 64 * 1024
_MAX_HOPS = 5
_PER_HOST = 4
_KEPT_S = 600.0
_KEPT_BYTES = 64 * 2**20
_KEPT_TYPES = frozenset({"script", "stylesheet"})
# What speaks of the connection, or of a coding that is undone by now.
_NOT_PASSED_ON = re.compile(
    r"connection|keep-alive|transfer-encoding|content-encoding|content-length|alt-svc|strict-transport-security"
)
# What the page's own scripts may set; the rest of the header is ours.
_TAKEN_FROM_PAGE = re.compile(r"accept|authorization|content-type|origin|referer|range|x-[a-z0-9-]+")


class Refused(Exception):
    """The page does not get what it asks for."""


class Part(NamedTuple):
    """One thing that a page asks for."""

    method: str
    url: str
    type: str
    """Chromium's name of the kind of resource."""
    headers: Mapping[str, str]
    body: bytes = b""


class Given(NamedTuple):
    """What it gets."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Budget:
    """What is left to one page."""

    requests: int
    total_bytes: int
    end_s: float = float("inf")
    """Monotonic time at which the page is over; known once its document is there."""
    hosts: dict[str, asyncio.Semaphore] = field(default_factory=dict)
    given: int = 0
    refused: int = 0

    def turn(self, host: str) -> asyncio.Semaphore:
        """So many requests of a page to one host at a time."""
        return self.hosts.setdefault(host, asyncio.Semaphore(_PER_HOST))


class Parts:
    """Answers what pages ask for. What many pages of a site share is kept for a while, so that its host sees less."""

    def __init__(
        self,
        settings: Settings,
        connections: Connections,
        headers: RequestHeaders,
        orders: Callable[[], Orders],
        rules: PartRules,
        *,
        obeys: Callable[[str], bool] = lambda _crawl: True,
    ) -> None:
        """``obeys`` tells whether a crawl obeys robots.txt."""
        self._rules = rules
        self._obeys = obeys
        self._connections = connections
        self._headers = headers
        self._orders = orders
        self._types = settings.rendering.types
        self._targets = TargetPolicy(settings.fetchers.blocked_names, settings.fetchers.blocked_ports)
        self._head_s = settings.fetchers.head_timeout.total_seconds()
        self._rate = settings.fetchers.min_rate_bytes_s, settings.fetchers.rate_grace.total_seconds()
        self._max_bytes = settings.fetchers.max_body_kib * 1024
        self._kept: OrderedDict[tuple[str, str], tuple[float, Given]] = OrderedDict()
        self._kept_bytes = 0

    async def give(self, part: Part, page: Request, budget: Budget) -> Given:
        """What a part is. Raises :class:`Refused`, also when it cannot be had."""
        try:
            given = await self._give(part, page, budget)
        except (Refused, InvalidUrl, Fault, OSError) as error:
            budget.refused += 1
            raise Refused(str(error)) from None
        budget.given += 1
        return given

    async def _give(self, part: Part, page: Request, budget: Budget) -> Given:
        if part.type not in self._types or part.method not in METHODS or len(part.body) > MAX_SENT_BYTES:
            raise Refused(f"{part.method} of a {part.type}")
        href = canonicalize(part.url).href
        kept = self._known(page.crawl, href) if part.method == "GET" and part.type in _KEPT_TYPES else None
        if kept is not None:
            return kept
        for _ in range(_MAX_HOPS + 1):
            if budget.requests <= 0 or budget.total_bytes <= 0:
                raise Refused("the page has asked for too much")
            budget.requests -= 1
            given, target = await self._ask(href, part, page, budget)
            if target is None:
                if part.type in _KEPT_TYPES and part.method == "GET" and given.status == 200:
                    self._keep(page.crawl, canonicalize(part.url).href, given)
                return given
            href = target
            if given.status == 303:
                part = part._replace(method="GET", body=b"")
        raise Refused("too many redirects")

    async def _ask(self, href: str, part: Part, page: Request, budget: Budget) -> tuple[Given, str | None]:
        """One request; the target, where its answer is a redirect."""
        url = split(href)
        refusal = self._targets.refusal(href) or self._orders().refusal(page.crawl, url.host, href)
        if refusal is not None:
            raise Refused(refusal)
        if self._obeys(page.crawl) and not await self._rules.allow(url, page):
            raise Refused("robots.txt")
        raw = self._headers.of_part(url, page.crawl, part.method, taken(part.headers), part.body)
        limit = LEAVE_UNREAD if part.method == "HEAD" else min(self._max_bytes, budget.total_bytes)
        async with budget.turn(url.name):
            now_s = time.monotonic()
            patience = Patience(min(now_s + self._head_s, budget.end_s), budget.end_s, *self._rate)
            answer = await self._connections.ask(url, raw, lambda _head: limit, patience, Dial())
        head = answer.head
        budget.total_bytes -= len(answer.body)
        if head is None or answer.cut is not None:
            raise Refused(str(answer.error or "more than a page may ask for"))
        target = redirect_target(href, head.values(b"location")) if head.status in REDIRECT_STATUSES else None
        body = undo(bytes(answer.body), declared(head.texts(b"content-encoding")), self._max_bytes).body
        return Given(head.status, passed_on(head), body), target

    def _known(self, crawl: str, href: str) -> Given | None:
        found = self._kept.get((crawl, href))
        return found[1] if found is not None and found[0] > time.monotonic() else None

    def _keep(self, crawl: str, href: str, given: Given) -> None:
        if "no-store" in given.headers.get("cache-control", "") or len(given.body) > _KEPT_BYTES // 8:
            return
        key = crawl, href
        before = self._kept.pop(key, None)
        self._kept_bytes += len(given.body) - (len(before[1].body) if before is not None else 0)
        self._kept[key] = time.monotonic() + _KEPT_S, given
        while self._kept_bytes > _KEPT_BYTES:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._kept_bytes -= len(oldest.body)


def taken(headers: Mapping[str, str]) -> dict[str, str]:
    """What of a page's own header goes out."""
    return {name: value for name, value in headers.items() if _TAKEN_FROM_PAGE.fullmatch(name.lower())}


def passed_on(head: Head) -> dict[str, str]:
    """The header of an answer as the browser gets it: repeated fields joined, cookies one a line."""
    fields: dict[str, str] = {}
    for line in head.raw.split(b"\r\n")[1:]:
        name, colon, value = line.partition(b":")
        key, text = name.decode("latin-1").strip().lower(), value.decode("latin-1").strip()
        if not colon or _NOT_PASSED_ON.fullmatch(key) or not text.isprintable():
            continue
        joint = "\n" if key == "set-cookie" else ", "
        fields[key] = f"{fields[key]}{joint}{text}" if key in fields else text
    return fields
