"""Orders: what operators want of running crawls, as decisions. Pure; every node that decides asks the same.

============ ================= ==================================================================================
action       subjects          effect
============ ================= ==================================================================================
``pause``    crawl, host       nothing more is released; what waits keeps its place
``stop``     crawl             what waits is refused, and what is found later; the crawl is finished soon
``block``    host, pattern     likewise, for these URLs in every crawl
``delay``    crawl, host       seconds between two requests to a host; robots.txt may still ask for more
``budget``   crawl             requests for pages at the most, instead of the crawl's own
``priority`` crawl, host,      added to what a URL has when it is queued; higher is sooner
             pattern
============ ================= ==================================================================================
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Literal

from pydantic import Field

from schemas.records import Record


class Action(StrEnum):
    """What an order asks for."""

    PAUSE = "pause"
    STOP = "stop"
    BLOCK = "block"
    DELAY = "delay"
    BUDGET = "budget"
    PRIORITY = "priority"


class Subject(StrEnum):
    """What an order is about."""

    CRAWL = "crawl"
    HOST = "host"
    PATTERN = "pattern"


class Order(Record):
    """What an operator wants of a running crawl, kept in ``control`` until it is taken back."""

    action: Action
    subject: Subject
    target: str = Field(min_length=1, max_length=2_000)
    """Name of a crawl, canonical host, or a regular expression that is searched in canonical URLs."""
    amount: float | None = None
    """delay: seconds; budget: requests for pages; priority: -100 to 100, higher is sooner."""
    reason: str | None = None
    by: str
    ordered_at: datetime


SUBJECTS: Mapping[Action, frozenset[Subject]] = {
    Action.PAUSE: frozenset({Subject.CRAWL, Subject.HOST}),
    Action.STOP: frozenset({Subject.CRAWL}),
    Action.BLOCK: frozenset({Subject.HOST, Subject.PATTERN}),
    Action.DELAY: frozenset({Subject.CRAWL, Subject.HOST}),
    Action.BUDGET: frozenset({Subject.CRAWL}),
    Action.PRIORITY: frozenset({Subject.CRAWL, Subject.HOST, Subject.PATTERN}),
}
"""What each action may be about."""

MAX_PRIORITY = 100
LONGEST_DELAY = timedelta(days=1)

Refused = Literal["stopped", "blocked"]


def key(order: Order) -> str:
    """The record's key in ``control``: a second order about the same replaces the first."""
    return f"order/{order.action}/{order.subject}/{order.target}"


def fault(order: Order) -> str | None:
    """What is wrong with an order; ``None`` when it can be followed."""
    if order.subject not in SUBJECTS[order.action]:
        allowed = " or ".join(sorted(SUBJECTS[order.action]))
        return f"{order.action} is about a {allowed}, not about a {order.subject}"
    if order.subject is Subject.PATTERN:
        try:
            re.compile(order.target)
        except re.error as error:
            return f"{order.target!r} is no regular expression: {error}"
    return _fault_of_amount(order.action, order.amount)


def _fault_of_amount(action: Action, amount: float | None) -> str | None:
    bounds = {
        Action.DELAY: (0.0, LONGEST_DELAY.total_seconds()),
        Action.BUDGET: (0.0, 2.0**53),
        Action.PRIORITY: (-float(MAX_PRIORITY), float(MAX_PRIORITY)),
    }.get(action)
    if bounds is None:
        return None if amount is None else f"{action} takes no amount"
    if amount is None or not bounds[0] <= amount <= bounds[1]:
        return f"{action} takes an amount from {bounds[0]:g} to {bounds[1]:g}"
    if action is not Action.DELAY and amount != int(amount):
        return f"{action} takes a whole number"
    return None


def concerns(order: Order, crawl: str, host: str, url: str) -> bool:
    """Whether an order is about a URL, its host or its crawl."""
    match order.subject:
        case Subject.CRAWL:
            return order.target == crawl
        case Subject.HOST:
            return order.target == host
        case Subject.PATTERN:
            return re.search(order.target, url) is not None


class Orders:
    """All orders in force at one moment. Immutable; those that cannot be followed are left out."""

    def __init__(self, orders: Iterable[Order] = ()) -> None:
        self.all = tuple(order for order in orders if fault(order) is None)
        self._exact = {(order.action, order.subject, order.target): order for order in self.all}

    def is_paused(self, crawl: str, host: str) -> bool:
        """Whether nothing of the crawl, or of the host, may be released now."""
        return self._has(Action.PAUSE, Subject.CRAWL, crawl) or self._has(Action.PAUSE, Subject.HOST, host)

    def is_stopped(self, crawl: str) -> bool:
        """Whether the crawl shall end."""
        return self._has(Action.STOP, Subject.CRAWL, crawl)

    def blocked_hosts(self) -> set[str]:
        """Hosts of which nothing is wanted any more."""
        return {each.target for each in self.all if (each.action, each.subject) == (Action.BLOCK, Subject.HOST)}

    def refusal(self, crawl: str, host: str, url: str) -> Refused | None:
        """Why a URL is not to be fetched any more."""
        if self.is_stopped(crawl):
            return "stopped"
        if self._has(Action.BLOCK, Subject.HOST, host) or any(blocks.search(url) for blocks in self._blocking):
            return "blocked"
        return None

    def delays(self) -> frozenset[tuple[Subject, str, float | None]]:
        """All delays that are ordered."""
        return frozenset((each.subject, each.target, each.amount) for each in self.all if each.action is Action.DELAY)

    def delay(self, crawl: str, host: str) -> timedelta | None:
        """The delay that was ordered, for the host rather than for the crawl; ``None`` where none was."""
        amount = self._amount(Action.DELAY, Subject.HOST, host)
        amount = self._amount(Action.DELAY, Subject.CRAWL, crawl) if amount is None else amount
        return None if amount is None else timedelta(seconds=amount)

    def budget(self, crawl: str) -> int | None:
        """Requests for pages that the crawl may make; ``None`` where nothing was ordered."""
        amount = self._amount(Action.BUDGET, Subject.CRAWL, crawl)
        return None if amount is None else int(amount)

    def priority(self, crawl: str, host: str, url: str) -> int:
        """The sum of what was ordered for the crawl, the host and patterns that match, -100 to 100."""
        if not self._prioritised:
            return 0
        amounts = [
            self._amount(Action.PRIORITY, Subject.CRAWL, crawl),
            self._amount(Action.PRIORITY, Subject.HOST, host),
        ]
        amounts += [amount for pattern, amount in self._preferring if pattern.search(url)]
        total = int(sum(amount or 0 for amount in amounts))
        return min(max(total, -MAX_PRIORITY), MAX_PRIORITY)

    def _has(self, action: Action, subject: Subject, target: str) -> bool:
        return (action, subject, target) in self._exact

    def _amount(self, action: Action, subject: Subject, target: str) -> float | None:
        found = self._exact.get((action, subject, target))
        return None if found is None else found.amount

    @cached_property
    def _blocking(self) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(each.target) for each in self._patterns(Action.BLOCK))

    @cached_property
    def _preferring(self) -> tuple[tuple[re.Pattern[str], float], ...]:
        return tuple((re.compile(each.target), each.amount or 0.0) for each in self._patterns(Action.PRIORITY))

    @cached_property
    def _prioritised(self) -> bool:
        return any(order.action is Action.PRIORITY for order in self.all)

    def _patterns(self, action: Action) -> list[Order]:
        return [each for each in self.all if each.action is action and each.subject is Subject.PATTERN]
