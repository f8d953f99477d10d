"""Proof of politeness: what fetch records say of gaps, concurrency and robots.txt. Pure.

The records are the fetchers' own account of what they did, so this judges what happened, not what was decided. A gap
runs from the latest moment at which the server can have seen a request (its first byte, or the end where none came) to
the beginning of the next one, as the frontier counts it.

========================= =====================================================================================
violation                 what was found
========================= =====================================================================================
``too_soon``              a request began before the delay that it was released under had passed
``too_many_at_once``      more requests to a host at one time than allowed
``before_retry_after``    a request began before the time that the host had asked to be left alone until
``no_robots``             a page was fetched without a robots.txt, though its crawl follows them
``unknown_robots``        a page names a version of robots.txt that the topic does not hold
``robots_denied``         the version that a page names forbids it
``crawl_delay``           the version that a page names asks for a longer delay than the one in force
========================= =====================================================================================
"""

from bisect import insort
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from frontier.backoff import retry_after
from frontier.robots import Rules, allows, crawl_delay, rules, verdict
from schemas.outcomes import CONSEQUENCES, HostEffect
from schemas.records import Crawl, Fetch, Kind
from schemas.robots import ALLOW_ALL

Violation = Literal[
    "too_soon", "too_many_at_once", "before_retry_after", "no_robots", "unknown_robots", "robots_denied", "crawl_delay"
]
REMEMBERED = 64
"""Requests to a host that a record is compared with; results of one host arrive nearly in order."""
REMEMBERED_IDS = 100_000
"""Ids by which a record that was written twice counts once."""


class Limits(NamedTuple):
    """What is promised."""

    per_host: int
    token: str
    """By which a robots.txt addresses us."""
    longest_crawl_delay: timedelta
    longest_retry_after: timedelta
    tolerance: timedelta = timedelta(0)
    """By how much the clocks of two fetchers may differ."""


class Finding(NamedTuple):
    """One violation."""

    violation: Violation
    crawl: str
    host: str
    url: str
    at: datetime
    detail: str


class _Request(NamedTuple):
    start_s: float
    seen_s: float
    """The latest moment at which the server can have seen it."""
    end_s: float
    delay_s: float | None
    url: str


@dataclass
class HostReport:
    """What was found of one host."""

    requests: int = 0
    shortest_gap_s: float | None = None
    """Between one request's first byte and the beginning of the next; below 0 when they overlapped."""
    longest_delay_s: float = 0.0
    """The longest delay that was in force."""
    most_at_once: int = 0
    quiet_until_s: float = 0.0
    recent: list[_Request] = field(default_factory=list)
    """In the order of their beginnings."""


class Audit:
    """Takes fetch records, those of one host in the order of the topic; a record that comes twice counts once."""

    def __init__(self, limits: Limits, crawl: Callable[[str], Crawl], versions: Mapping[str, Fetch]) -> None:
        self.hosts: dict[str, HostReport] = {}
        self.findings: list[Finding] = []
        self.fetches = 0
        self.unjudged = 0
        """Records that do not say which delay was in force: their gaps are reported, not judged."""
        self._limits = limits
        self._crawl = crawl
        self._versions = versions
        self._rules: dict[str, Rules] = {}
        self._ids: dict[str, None] = {}

    def add(self, fetch: Fetch) -> None:
        """Judge one record."""
        if fetch.fetch_id in self._ids:
            return
        self._ids[fetch.fetch_id] = None
        if len(self._ids) > REMEMBERED_IDS:
            del self._ids[next(iter(self._ids))]
        self.fetches += 1
        if fetch.delay_ms is None:
            self.unjudged += 1
        self._judge_pace(self.hosts.setdefault(fetch.host, HostReport()), fetch)
        if fetch.kind is not Kind.ROBOTS:
            self._judge_robots(fetch)

    def counts(self) -> Counter[Violation]:
        """How many violations of each kind."""
        return Counter(each.violation for each in self.findings)

    def _find(self, violation: Violation, fetch: Fetch, detail: str) -> None:
        self.findings.append(Finding(violation, fetch.crawl, fetch.host, fetch.url, fetch.started_at, detail))

    def _judge_pace(self, report: HostReport, fetch: Fetch) -> None:
        request = _request(fetch)
        tolerance_s = self._limits.tolerance.total_seconds()
        report.requests += 1
        report.longest_delay_s = max(report.longest_delay_s, request.delay_s or 0.0)
        if request.start_s < report.quiet_until_s - tolerance_s and self._limits.per_host == 1:
            early_s = report.quiet_until_s - request.start_s
            self._find("before_retry_after", fetch, f"{early_s:.3f} s before the time that the host had named")
        insort(report.recent, request)
        place = report.recent.index(request)
        for first, second in ((place - 1, place), (place, place + 1)):
            if first >= 0 and second < len(report.recent):
                self._judge_gap(report, fetch, (report.recent[first], report.recent[second]))
        at_once = _most_at_once(report.recent, request, tolerance_s)
        report.most_at_once = max(report.most_at_once, at_once)
        if at_once > self._limits.per_host:
            self._find("too_many_at_once", fetch, f"{at_once} at a time, {self._limits.per_host} allowed")
        del report.recent[:-REMEMBERED]
        report.quiet_until_s = max(report.quiet_until_s, self._quiet_until_s(fetch, request.end_s))

    def _judge_gap(self, report: HostReport, fetch: Fetch, pair: tuple[_Request, _Request]) -> None:
        before, after = pair
        # Of those that may run side by side only the beginnings are apart by the delay.
        gap_s = after.start_s - (before.seen_s if self._limits.per_host == 1 else before.start_s)
        report.shortest_gap_s = gap_s if report.shortest_gap_s is None else min(report.shortest_gap_s, gap_s)
        if after.delay_s is not None and gap_s < after.delay_s - self._limits.tolerance.total_seconds():
            self._find("too_soon", fetch, f"{gap_s:.3f} s after {before.url}, {after.delay_s:.3f} s were due")

    def _quiet_until_s(self, fetch: Fetch, end_s: float) -> float:
        if CONSEQUENCES[fetch.outcome].host is HostEffect.NONE:
            return 0.0
        asked = retry_after(fetch.retry_after, end_s, self._limits.longest_retry_after)
        return 0.0 if asked is None else end_s + asked.total_seconds()

    def _judge_robots(self, fetch: Fetch) -> None:
        if fetch.robots is None:
            if self._crawl(fetch.crawl).follow_robots:
                self._find("no_robots", fetch, f"crawl {fetch.crawl} follows robots.txt")
            return
        found = self._version(fetch.robots)
        if found is None:
            self._find("unknown_robots", fetch, f"version {fetch.robots}")
            return
        if not allows(found, fetch.url, self._limits.token):
            self._find("robots_denied", fetch, f"version {fetch.robots}")
        asked_s = crawl_delay(found, self._limits.token, self._limits.longest_crawl_delay).total_seconds()
        if fetch.delay_ms is not None and fetch.delay_ms / 1000 < asked_s - 0.001:
            self._find("crawl_delay", fetch, f"{asked_s:g} s asked for, {fetch.delay_ms / 1000:g} s in force")

    def _version(self, name: str) -> Rules | None:
        if name not in self._rules:
            read = self._versions.get(name)
            # That of a robots.txt without rules needs no record: it is the same for every origin.
            known = rules(ALLOW_ALL, 0.0) if read is None else verdict(read, 0.0)
            if not isinstance(known, Rules) or known.version != name:
                return None
            self._rules[name] = known
        return self._rules[name]


def _request(fetch: Fetch) -> _Request:
    start_s = fetch.started_at.timestamp()
    seen_ms = fetch.total_ms if fetch.first_byte_ms is None else fetch.first_byte_ms
    delay_s = None if fetch.delay_ms is None else fetch.delay_ms / 1000
    return _Request(start_s, start_s + seen_ms / 1000, start_s + fetch.total_ms / 1000, delay_s, fetch.url)


def _most_at_once(requests: list[_Request], new: _Request, tolerance_s: float) -> int:
    """The most requests at one moment while ``new``, which is among them, was under way."""
    ends = [(each, max(each.start_s, each.end_s - tolerance_s)) for each in requests if each is not new]
    end_s = max(new.start_s, new.end_s - tolerance_s)
    # The number grows only where one begins.
    moments = [new.start_s, *(each.start_s for each, _ in ends if new.start_s <= each.start_s < end_s)]
    return 1 + max(sum(each.start_s <= moment < stop_s for each, stop_s in ends) for moment in moments)
