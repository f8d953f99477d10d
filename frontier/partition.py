"""One partition's hosts: who may be asked what, and when. The clock is passed in, Kafka is elsewhere."""

import heapq
import random
from collections import OrderedDict
from collections.abc import Callable
from datetime import timedelta

from frontier import host as hosts
from frontier.admission import is_of_host
from frontier.entry import Entry, Fate, fingerprint
from frontier.host import Host
from frontier.leases import Lease, robots_lease, unpack_lease
from frontier.memory import Memory
from frontier.records import decision, page_request, robots_request, trace
from frontier.robots import Rules, allows, crawl_delay
from frontier.rulebook import Rulebook
from infra.settings import FrontierSettings
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.frontier import LinksAdmitted, UrlRefused, UrlReleased
from schemas.records import Crawl, Links
from schemas.url import split

USED = "used"
"""Set in a store once anything of it may have been released."""
MAX_OF_A_HOST = 500
"""Decisions on one host before it is another's turn: a host may be full of forbidden URLs."""
MAX_OF_A_ROUND = 5_000
"""Decisions before what they owe is committed and sent."""


class Partition:
    """The frontier of one partition. Call everything but :meth:`next_s` within a transaction of the store."""

    def __init__(
        self, memory: Memory, settings: FrontierSettings, crawl: Callable[[str], Crawl], token: str, now_s: float
    ) -> None:
        self.memory = memory
        self.settings = settings
        self.crawl = crawl
        self.token = token
        self.released_pages: Callable[[str], int] = lambda name: memory.counts[f"crawl/{name}/released"]
        """Of a crawl; the stage replaces it to count over all its partitions."""
        self.leases: dict[str, Lease] = {}
        self.dice = random.Random()  # noqa: S311  # spreads retries, keeps no secret
        self.rulebook = Rulebook(memory)
        self._hosts: dict[str, Host] = {}
        self._schedule: list[tuple[float, str]] = []
        self._recent: OrderedDict[bytes, None] = OrderedDict()
        self._load(now_s)

    def _load(self, now_s: float) -> None:
        """Take up what the store holds."""
        store = self.memory.store
        # Nobody knows when a host was asked last by whoever had it before us; a new file has nobody before us.
        self._opened_s = now_s if store.meta(USED) else float("-inf")
        store.clamp_due(now_s + self.settings.longest_retry_after.total_seconds())
        for name, queued in store.waiting():
            self.host(name, now_s).queued = queued
        for name, host_name, packed in store.leases():
            lease = unpack_lease(name, host_name, packed, now_s)
            self.leases[name] = lease
            host = self.host(host_name, now_s)
            host.outstanding += 1
            host.asking += lease.entry is None
        for host in self._hosts.values():
            self.schedule(host)

    def host(self, name: str, now_s: float) -> Host:
        """The host, read from the store when it is not in memory."""
        host = self._hosts.get(name)
        if host is None:
            latest_s = now_s + self.settings.longest_retry_after.total_seconds()
            host = self._hosts[name] = hosts.unpack(name, self.memory.store.host(name), now_s, latest_s)
            # A host that somebody else may have asked just now has one whole delay of rest first.
            host.asked_s = self._opened_s
        return host

    def hosts(self) -> int:
        """Hosts with work."""
        return len(self._hosts)

    def next_s(self) -> float | None:
        """When the next host is due."""
        return self._schedule[0][0] if self._schedule else None

    def schedule(self, host: Host) -> None:
        """Put the host where it belongs: into the schedule, or nowhere while it is being asked."""
        if host.idle:
            # Its delay still runs: it leaves the memory when that is over.
            when = host.next_s
        elif host.condemned:
            when = 0.0
        elif not host.queued or host.asking or host.outstanding >= self.settings.per_host:
            host.scheduled_s = None
            return
        else:
            when = max(host.next_s, host.ready_s)
        if host.scheduled_s != when:
            host.scheduled_s = when
            heapq.heappush(self._schedule, (when, host.name))

    def admit(self, links: Links, trace_id: str | None, now_s: float) -> None:
        """Take the URLs that are new into the host's queue."""
        host = self.host(links.host, now_s)
        crawl = self.crawl(links.crawl)
        deepest = self.settings.max_depth if crawl.max_depth is None else min(crawl.max_depth, self.settings.max_depth)
        new = 0
        for url in links.urls:
            key = fingerprint(links.crawl, url)
            if key in self._recent or not self.memory.store.see(key):
                continue
            self._remember(key)
            entry = Entry(key, links.crawl, url, links.host, links.depth, links.hops, links.parent, 0, 0, 0.0, trace_id)
            if links.depth > deepest or not is_of_host(url, links.host):
                self.refuse(entry, "too_deep" if links.depth > deepest else "not_of_host")
                continue
            new += 1
            self.wait(host, entry)
        emit(LinksAdmitted(new, len(links.urls) - new))
        self.schedule(host)

    def _remember(self, key: bytes) -> None:
        self._recent[key] = None
        if len(self._recent) > self.settings.recent_fingerprints:
            self._recent.popitem(last=False)

    def wait(self, host: Host, entry: Entry) -> None:
        """Let a URL wait in its host's queue."""
        self.memory.queue(entry)
        # Only a head that is the whole queue may grow at its end: otherwise something on disk comes before.
        whole = host.queued == len(host.head) < self.settings.hot_entries
        host.queued += 1
        host.ready_s = min(host.ready_s, entry.due_s)
        if whole and entry.due_s == 0.0:
            host.head.append(entry)

    def release(self, now_s: float) -> int:
        """Release what is due, up to a bound; returns how many URLs it decided on. What is left stays due."""
        decided = 0
        while decided < MAX_OF_A_ROUND and self._schedule and self._schedule[0][0] <= now_s:
            when, name = heapq.heappop(self._schedule)
            host = self._hosts.get(name)
            if host is None or host.scheduled_s != when:
                continue
            host.scheduled_s = None
            if host.idle:
                del self._hosts[name]
                continue
            decided += self._refuse_some(host) if host.condemned else self._serve(host, now_s)
            self.schedule(host)
        return decided

    def _serve(self, host: Host, now_s: float) -> int:
        decided = 0
        while decided < MAX_OF_A_HOST:
            if host.asking or host.outstanding >= self.settings.per_host or host.next_s > now_s:
                break
            entry = self._first(host, now_s)
            if entry is None:
                break
            crawl = self.crawl(entry.crawl)
            origin = split(entry.url).origin
            rules = self._rules(origin, now_s) if crawl.follow_robots else None
            quiet_until_s = host.asked_s + self.delay(host, crawl, rules).total_seconds()
            if now_s < quiet_until_s:
                host.next_s = quiet_until_s
                break
            reason = self._over(crawl, entry)
            if reason is None and crawl.follow_robots:
                if rules is None:
                    self._ask_robots(host, origin, crawl, now_s)
                    return decided + 1
                reason = None if allows(rules, entry.url, self.token) else "robots_denied"
            host.head.popleft()
            host.queued -= 1
            decided += 1
            if reason is None:
                self._release_page(host, entry, rules, now_s)
            else:
                self.memory.drop(entry)
                self.refuse(entry, reason)
        return decided

    def condemn(self, host: Host, reason: str) -> None:
        """Refuse all that waits for a host: some now, the rest in the next rounds; what comes later is tried anew."""
        host.condemned = reason
        host.head.clear()
        self._refuse_some(host)

    def _refuse_some(self, host: Host) -> int:
        entries = self.memory.store.head(host.name, MAX_OF_A_HOST, ())
        for entry in entries:
            self.memory.drop(entry)
            self.refuse(entry, host.condemned or "")
        host.head.clear()
        host.queued -= len(entries)
        if not host.queued:
            host.condemned = None
        return len(entries)

    def _first(self, host: Host, now_s: float) -> Entry | None:
        """The next URL that is due; when none is, the host is scheduled for the first that will be."""
        if not host.head and host.queued:
            found = self.memory.store.head(host.name, self.settings.hot_entries, ())
            host.head.extend(entry for entry in found if entry.due_s <= now_s)
            if not host.head and found:
                host.ready_s = found[0].due_s
        return host.head[0] if host.head else None

    def _over(self, crawl: Crawl, entry: Entry) -> str | None:
        if crawl.max_pages is None or entry.attempt or self.released_pages(crawl.name) < crawl.max_pages:
            return None
        return "over_budget"

    def _rules(self, origin: str, now_s: float) -> Rules | None:
        """What robots.txt says, as long as it is fresh."""
        rules = self.rulebook.read(origin)
        fresh_s = self.settings.robots_fresh.total_seconds()
        # Read in the future means that a clock was set back.
        return rules if rules is not None and abs(now_s - rules.read_s) < fresh_s else None

    def delay(self, host: Host, crawl: Crawl, rules: Rules | None) -> timedelta:
        """What has to pass between two requests to the host."""
        wanted = self.settings.delay if crawl.delay_ms is None else timedelta(milliseconds=crawl.delay_ms)
        if rules is not None:
            wanted = max(wanted, crawl_delay(rules, self.token, self.settings.longest_crawl_delay))
        host.delay_s = max(host.delay_s, wanted.total_seconds())
        return timedelta(seconds=host.delay_s)

    def _release_page(self, host: Host, entry: Entry, rules: Rules | None, now_s: float) -> None:
        delay = self.delay(host, self.crawl(entry.crawl), rules)
        self.memory.lease(entry)
        self.leases[entry.lease] = Lease(host.name, entry, "", entry.hops, now_s)
        _asked(host, now_s)
        about = trace(entry)
        self.memory.send(page_request(entry, about, delay, rules.version if rules else None))
        emit(UrlReleased(entry.url, robots=False), about)

    def _ask_robots(self, host: Host, origin: str, crawl: Crawl, now_s: float) -> None:
        delay = self.delay(host, crawl, None)
        url, hops = host.robots_moved.pop(origin, (f"{origin}/robots.txt", 0))
        name = robots_lease(origin, now_s)
        lease = self.leases[name] = Lease(host.name, None, origin, hops, now_s)
        self.memory.lease_robots(name, host.name, lease.pack())
        _asked(host, now_s)
        host.asking += 1
        self.memory.send(robots_request(name, crawl.name, host.name, url, (hops, delay)))
        emit(UrlReleased(url, robots=True))

    def refuse(self, entry: Entry, reason: str) -> None:
        """A URL will not be fetched; the world is told, save for budgets, which would tell of every URL left."""
        self.memory.done(entry, Fate.REFUSED)
        if reason != "over_budget":
            self.memory.send(decision(entry, reason))
        emit(UrlRefused(reason))


def _asked(host: Host, now_s: float) -> None:
    host.outstanding += 1
    host.asked_s = now_s
    host.next_s = now_s + host.delay_s
