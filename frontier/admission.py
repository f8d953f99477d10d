"""Admission: which URLs of a record of links are taken. What comes from elsewhere than our own stages stops nothing."""

import re
from datetime import UTC, datetime
from itertools import repeat

from frontier.budgets import Spent, pattern, room, spent
from frontier.entry import Entry, Lane, fingerprint, rank
from frontier.host import Host
from frontier.partition import Partition
from frontier.sitemaps import announce
from frontier.tallies import of_domain, of_host
from frontier.traps import Rule
from infra.errors import NeverValid
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.frontier import LinksAdmitted
from schemas.records import Links, Reason
from schemas.url import MAX_URL_LENGTH, InvalidUrl, split

_CRAWL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def check(links: Links) -> None:
    """Raises :class:`NeverValid` when a record of the pipeline could not carry what this one holds."""
    if _CRAWL.fullmatch(links.crawl) is None:
        raise NeverValid("crawl_name", "the crawl has no valid name")
    if any(len(each) not in (0, len(links.urls)) for each in (links.priorities, links.modified)):
        raise NeverValid("uneven", "there are not as many priorities or dates as URLs")
    if any(len(text) > MAX_URL_LENGTH for text in (links.host, links.parent or "", *links.urls)):
        raise NeverValid("too_long", f"a URL is longer than {MAX_URL_LENGTH} characters")


def is_of_host(url: str, host: str) -> bool:
    """Whether it is a canonical URL of the host: otherwise it would be fetched at another host's pace."""
    try:
        found = split(url)
    except InvalidUrl:
        return False
    return found.host == host and found.href == url


def admit(partition: Partition, links: Links, trace_id: str | None, now_s: float) -> None:
    """Take the URLs that are new, and neither too deep nor a trap nor over a budget, into the host's queue."""
    host = partition.host(links.host, now_s)
    gate: _Gate | None = None
    see, orders = partition.memory.store.see, partition.orders
    new = 0
    is_revisited = bool(links.modified) and partition.crawl(links.crawl).revisit
    # A server that redirects to an address with a session insists on it.
    urls = links.urls if links.reason is Reason.REDIRECT else partition.traps.without_sessions(links.urls)
    for url, priority, modified_s in zip(
        urls, links.priorities or repeat(0), links.modified or repeat(0), strict=False
    ):
        key = fingerprint(links.crawl, url)
        if key in partition.recent or not see(key):
            if modified_s and is_revisited:
                _hasten(partition, host, key, modified_s, now_s)
            continue
        partition.remember(key)
        gate = gate or _Gate(partition, links, now_s)
        entry = Entry(
            key, links.crawl, url, links.host, links.depth, links.hops, links.parent, 0, 0, 0.0, trace_id,
            Lane.FRESH, rank(links.depth, priority + orders.priority(links.crawl, links.host, url)), kind=links.kind,
        )  # fmt: skip
        reason = gate.refusal(url)
        if reason is not None:
            partition.refuse(entry, reason)
            continue
        new += 1
        partition.wait(host, entry)
    if gate is not None:
        gate.close()
    emit(LinksAdmitted(new, len(links.urls) - new))
    partition.schedule(host)


def _hasten(partition: Partition, host: Host, key: bytes, modified_s: int, now_s: float) -> None:
    """A known URL was modified: if it has been visited before that and waits for another visit, that is due soon.

    Not sooner than the shortest time after the last one: anybody may claim that all has changed, and often.
    """
    entry = partition.memory.store.queued(key)
    if entry is None or entry.past is None or entry.lane is not Lane.RECRAWL:
        return
    due_s = max(now_s, entry.past.fetched_s + partition.settings.revisit.shortest.total_seconds())
    if entry.past.fetched_s < modified_s <= now_s and due_s < entry.due_s:
        partition.memory.drop(entry)
        host.queues.drop([entry])
        partition.wait(host, entry._replace(due_s=due_s))


class _Gate:
    """Judges the new URLs of one record, and counts those that it lets through."""

    def __init__(self, partition: Partition, links: Links, now_s: float) -> None:
        settings, crawl = partition.settings, partition.crawl(links.crawl)
        deepest = settings.max_depth if crawl.max_depth is None else min(crawl.max_depth, settings.max_depth)
        self._partition, self._crawl = partition, links.crawl
        self._is_too_deep = links.depth > deepest
        self._is_wanted = links.reason is Reason.SEED
        self._wants_sitemaps = crawl.sitemaps and crawl.follow_robots
        self._host = links.host
        self._limits = settings.traps
        self._trap = partition.traps.rule
        self._year = datetime.fromtimestamp(now_s, UTC).year
        self._tallies = partition.memory.tallies
        self._names = of_host(links.crawl, links.host), of_domain(links.crawl, links.host)
        self._tally, self._domain = map(self._tallies.get, self._names)
        self._room = room(self._limits, self._tally, self._domain)
        self._before = [(each.urls, each.hosts) for each in (self._tally, self._domain)]

    def refusal(self, url: str) -> Rule | Spent | str | None:
        """Why a new URL is not taken. Somebody asked for a seed: no rule knows better."""
        if self._is_too_deep:
            return "too_deep"
        if not is_of_host(url, self._host):
            return "not_of_host"
        kind = pattern(url) if "?" in url else None
        if not self._is_wanted and (reason := self._trap(url, self._year) or self._spent(kind)) is not None:
            return reason
        tally = self._tally
        if not tally.urls:
            self._domain.hosts += 1
            self._announce(url)
        tally.urls += 1
        self._domain.urls += 1
        if kind is not None:
            tally.count(kind)
        return None

    def _announce(self, url: str) -> None:
        """A crawl's first URL of a host whose robots.txt was read for another crawl: nobody will tell it again."""
        if not self._wants_sitemaps:
            return
        origin = split(url).origin
        rules = self._partition.rulebook.read(origin)
        if rules is not None:
            announce(self._partition, [self._crawl], origin, rules)

    def _spent(self, kind: str | None) -> Spent | None:
        self._room -= 1
        if self._room >= 0 and kind is None:
            return None
        return spent(self._limits, self._tally, self._domain, kind)

    def close(self) -> None:
        """Keep what was counted."""
        if self._tally.urls > self._before[0][0]:
            for name, tally, before in zip(self._names, (self._tally, self._domain), self._before, strict=True):
                self._tallies.change(name, tally, before)
