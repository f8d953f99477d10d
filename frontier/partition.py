"""One partition's hosts: who may be asked what, and when. The clock is passed in, Kafka is elsewhere."""

import heapq
import random
from collections import OrderedDict
from collections.abc import Callable, Collection
from datetime import timedelta
from typing import get_args

from frontier import host as hosts
from frontier.budgets import Spent
from frontier.entry import Entry, Fate
from frontier.host import Host
from frontier.leases import Lease, robots_lease, unpack_lease
from frontier.memory import Memory
from frontier.queues import reader
from frontier.records import decision, page_request, robots_request, trace
from frontier.robots import Rules, allows, crawl_delay
from frontier.rulebook import Rulebook
from frontier.traps import Traps
from infra.settings import FrontierSettings
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.frontier import UrlRefused, UrlReleased
from schemas.orders import Orders
from schemas.records import Crawl
from schemas.url import split

USED = "used"
"""Set in a store once anything of it may have been released."""
MAX_OF_A_HOST = 500
"""Decisions on one host before it is another's turn: a host may be full of forbidden URLs."""
MAX_OF_A_ROUND = 5_000
"""Decisions before what they owe is committed and sent."""

UNTOLD = frozenset({"over_budget", "stopped", *get_args(Spent)})
"""Refusals that are counted, and kept with the URL, but not recorded one by one: they would tell of every URL left."""


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
        self.needs_browser: Callable[[str], bool] = lambda _url: False  # the stage replaces it by what is set
        self.orders = Orders()
        """What operators want; see :meth:`obey`."""
        self.leases: dict[str, Lease] = {}
        self.longest_rest_s = bearable_s(settings.delay)
        """How long it may be left alone while it has work: :func:`bearable_s` over about the last hundred pages."""
        self.dice = random.Random()  # noqa: S311  # spreads retries, keeps no secret
        self.rulebook = Rulebook(memory)
        self.traps = Traps(settings.traps)
        self._hosts: dict[str, Host] = {}
        self._schedule: list[tuple[float, str]] = []
        self.recent: OrderedDict[bytes, None] = OrderedDict()
        """See :meth:`remember`."""
        self._load(now_s)

    def _load(self, now_s: float) -> None:
        """Take up what the store holds."""
        store = self.memory.store
        # Nobody knows when a host was asked last by whoever had it before us; a new file has nobody before us.
        self._opened_s = now_s if store.meta(USED) else float("-inf")
        store.clamp_due(now_s + self.settings.longest_retry_after.total_seconds())
        for name, crawl, lane, queued in store.waiting():
            self.host(name, now_s).queues.load(crawl, lane, queued)
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

    def hosts(self) -> Collection[Host]:
        """Every host in memory: with work, or with a delay that still runs."""
        return self._hosts.values()

    def next_s(self) -> float | None:
        """When the next host is due."""
        return self._schedule[0][0] if self._schedule else None

    def schedule(self, host: Host) -> None:
        """Put the host where it belongs: into the schedule, or nowhere while it is being asked."""
        if host.idle:
            # Its delay still runs: it leaves the memory when that is over.
            when = host.next_s
        elif host.condemned or self._stopped(host):
            when = 0.0
        elif not host.has_room(self.settings.per_host):
            host.scheduled_s = None
            return
        else:
            ready_s = host.queues.ready_s(lambda crawl: self.orders.is_paused(crawl, host.name))
            if ready_s is None:
                host.scheduled_s = None
                return
            when = max(host.next_s, ready_s)
        if host.scheduled_s != when:
            host.scheduled_s = when
            heapq.heappush(self._schedule, (when, host.name))

    def remember(self, key: bytes) -> None:
        """A URL that was seen just now: when it comes again the store need not be asked."""
        self.recent[key] = None
        if len(self.recent) > self.settings.recent_fingerprints:
            self.recent.popitem(last=False)

    def wait(self, host: Host, entry: Entry) -> None:
        """Let a URL wait in its host's queue."""
        self.memory.queue(entry)
        host.queues.add(entry, self.settings.hot_entries)

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
            decided += self._refuse_some(host) or self._serve(host, now_s)
            self.schedule(host)
        return decided

    def _serve(self, host: Host, now_s: float) -> int:
        decided = 0
        while decided < MAX_OF_A_HOST:
            if not host.has_room(self.settings.per_host) or host.next_s > now_s:
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
            reason = self.orders.refusal(entry.crawl, host.name, entry.url) or self._over(crawl, entry)
            if reason is None and crawl.follow_robots:
                if rules is None:
                    self._ask_robots(host, origin, crawl, now_s)
                    return decided + 1
                reason = None if allows(rules, entry.url, self.token) else "robots_denied"
            host.queues.take(entry, crawl.weight)
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
        self._refuse_some(host)

    def _refuse_some(self, host: Host) -> int:
        """Refuse some of what waits for a host that was given up, or of a crawl that was stopped; returns how many."""
        crawl = None if host.condemned else self._stopped(host)
        if not host.condemned and crawl is None:
            return 0
        entries = self.memory.store.some(host.name, crawl, MAX_OF_A_HOST)
        for entry in entries:
            self.memory.drop(entry)
            self.refuse(entry, host.condemned or "stopped")
        host.queues.drop(entries)
        if not host.queues:
            host.condemned = None
        return len(entries)

    def _stopped(self, host: Host) -> str | None:
        """A crawl that has URLs waiting for the host, and was stopped."""
        return next((queue.crawl for queue in host.queues if self.orders.is_stopped(queue.crawl)), None)

    def obey(self, orders: Orders) -> None:
        """What operators want has changed. Costs a look at every host with work."""
        blocked = orders.blocked_hosts() - self.orders.blocked_hosts()
        has_other_delays = orders.delays() != self.orders.delays()
        self.orders = orders
        for host in list(self._hosts.values()):
            if has_other_delays:
                # It may be shorter than what was in force: found anew before the next request, from the last one on.
                host.delay_s = 0.0
                host.next_s = host.next_s if host.in_trouble else min(host.next_s, host.asked_s)
            if host.name in blocked and host.queues:
                self.condemn(host, "blocked")
            self.schedule(host)

    def _first(self, host: Host, now_s: float) -> Entry | None:
        """The URL whose turn it is."""
        read = reader(self.memory.store, host.name, self.settings.hot_entries)
        return host.queues.first(now_s, read, lambda crawl: self.orders.is_paused(crawl, host.name))

    def _over(self, crawl: Crawl, entry: Entry) -> str | None:
        ordered = self.orders.budget(crawl.name)
        budget = crawl.max_pages if ordered is None else ordered
        if budget is None or entry.attempt or self.released_pages(crawl.name) < budget:
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
        ordered = self.orders.delay(crawl.name, host.name)
        own = self.settings.delay if crawl.delay_ms is None else timedelta(milliseconds=crawl.delay_ms)
        wanted = own if ordered is None else ordered
        if rules is not None:
            wanted = max(wanted, crawl_delay(rules, self.token, self.settings.longest_crawl_delay))
        host.delay_s = max(host.delay_s, wanted.total_seconds())
        return timedelta(seconds=host.delay_s)

    def _release_page(self, host: Host, entry: Entry, rules: Rules | None, now_s: float) -> None:
        delay = self.delay(host, self.crawl(entry.crawl), rules)
        entry = entry._replace(browser=entry.browser or self.needs_browser(entry.url))
        self.longest_rest_s += 0.01 * (bearable_s(delay) - self.longest_rest_s)
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
        """A URL will not be fetched; the world is told, save where it would be told of every URL that is left."""
        self.memory.done(entry, Fate.REFUSED, reason)
        if reason not in UNTOLD:
            self.memory.send(decision(entry, reason))
        emit(UrlRefused(reason))


def _asked(host: Host, now_s: float) -> None:
    host.outstanding += 1
    host.asked_s = now_s
    host.next_s = now_s + host.delay_s


def bearable_s(delay: timedelta) -> float:
    """How long a host may wait beyond its delay, so that a round has more to do: a hundredth of the polite rate.

    One without a delay is not bound by politeness, so nothing is gained by a hurry that costs the broker requests.
    """
    return delay.total_seconds() / 100 or 1.0
