"""What the outcome of a request means: for the URL, for its host, for the origin's robots.txt."""

from datetime import timedelta

from frontier import revisit
from frontier.backoff import backoff, retry_after
from frontier.entry import Entry, Fate, Lane, fingerprint
from frontier.host import Host
from frontier.leases import Lease, is_lost
from frontier.partition import MAX_OF_A_HOST, Partition
from frontier.records import decision, redirect, robots_version
from frontier.revisit import Past
from frontier.robots import Rules, crawl_delay, verdict
from frontier.sitemaps import announce
from infra.kafka.topics import TopicName
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.frontier import HostGivenUp, LeaseLost, ResultIgnored, VisitEnded
from schemas.outcomes import CONSEQUENCES, HostEffect, Outcome, Retry
from schemas.records import Fetch, Kind
from schemas.scope import refusal
from schemas.url import InvalidUrl, canonicalize

_FATES = {Outcome.OK: Fate.PAGE, Outcome.NOT_MODIFIED: Fate.PAGE, Outcome.REDIRECT: Fate.MOVED}
ROBOTS_ATTEMPTS = 5
MAX_LOST = 5
"""Requests for one URL that may be lost, on top of its attempts."""


def settle(partition: Partition, fetch: Fetch, now_s: float) -> None:
    """Apply one result: the lease ends, the host's next time is set, the URL is done or waits again."""
    lease = partition.leases.pop(fetch.lease, None)
    if lease is None:
        emit(ResultIgnored())
        if fetch.kind is not Kind.ROBOTS and fetch.outcome is Outcome.REDIRECT:
            # Its target may not have been published before a disk was lost; where it has, it is known already.
            _follow(partition, _entry(fetch), fetch.redirect_to or "")
        return
    host = partition.host(lease.host, now_s)
    host.outstanding -= 1
    host.asking -= lease.entry is None
    _keep_delay(host, fetch, now_s)
    _judge_host(partition, host, fetch, now_s)
    if lease.entry is None:
        partition.memory.unlease_robots(fetch.lease)
        _robots(partition, host, lease, fetch, now_s)
    else:
        partition.memory.unlease(lease.entry)
        _page(partition, host, lease.entry, fetch, now_s)
    if host.silent >= partition.settings.give_up_host_after:
        give_up(partition, host, "host_unreachable", now_s)
    partition.schedule(host)


def _keep_delay(host: Host, fetch: Fetch, now_s: float) -> None:
    """The delay runs from the latest moment at which the server can have seen the request.

    That is when its first byte came: the time since is measured by the fetcher's monotonic clock, and what passed on
    the way to us only makes the wait longer. No two machines' clocks are compared.
    """
    since_s = 0.0
    if fetch.first_byte_ms is not None:
        since_s = max(0.0, fetch.total_ms - fetch.first_byte_ms) / 1000
    host.asked_s = max(host.asked_s, now_s - since_s)
    host.next_s = max(host.next_s, host.asked_s + host.delay_s)


def _entry(fetch: Fetch) -> Entry:
    """The entry that a result was for, as far as its records need it."""
    about = (fetch.depth, fetch.hops, fetch.parent, fetch.visit, fetch.attempt)
    key = fingerprint(fetch.crawl, fetch.url)
    return Entry(key, fetch.crawl, fetch.url, fetch.host, *about, 0.0, None, kind=fetch.kind)


def _judge_host(partition: Partition, host: Host, fetch: Fetch, now_s: float) -> None:
    effect = CONSEQUENCES[fetch.outcome].host
    before = (host.failures, host.silent)
    if effect is HostEffect.NONE:
        host.failures = host.silent = 0
    else:
        host.failures += 1
        host.silent = host.silent + 1 if effect is HostEffect.TROUBLE else 0
        settings = partition.settings
        asked = retry_after(fetch.retry_after, now_s, settings.longest_retry_after)
        wait = max(asked or timedelta(0), backoff(host.failures, settings, partition.dice.random()))
        host.next_s = max(host.next_s, now_s + wait.total_seconds())
    if before != (host.failures, host.silent):
        partition.memory.put_host(host)


def _page(partition: Partition, host: Host, entry: Entry, fetch: Fetch, now_s: float) -> None:
    following = _following(partition, entry, CONSEQUENCES[fetch.outcome].retry, now_s)
    if following is not None:
        partition.wait(host, following._replace(due_s=max(host.next_s, following.due_s)))
        return
    fate = _FATES.get(fetch.outcome, Fate.ERROR)
    if fate is Fate.PAGE and entry.kind is Kind.SITEMAP:
        fate = Fate.SITEMAP
    past = _past(partition, entry, fetch, fate, now_s)
    if past is None:
        partition.memory.done(entry, fate)
    else:
        partition.wait(host, entry.next_visit(past, revisit.due_s(past, now_s, partition.dice.random())))
    emit(VisitEnded(fetch.outcome))
    if fetch.outcome is Outcome.REDIRECT:
        _follow(partition, entry, fetch.redirect_to or "")


def _past(partition: Partition, entry: Entry, fetch: Fetch, fate: Fate, now_s: float) -> Past | None:
    """What is remembered for the next visit; ``None`` when this was the last."""
    if fate is Fate.MOVED or not partition.crawl(entry.crawl).revisit:
        return None
    settings = partition.settings.revisit
    if fate is Fate.ERROR:
        return None if entry.past is None else revisit.missed(entry.past, settings)
    return revisit.visited(entry.past, fetch, now_s, settings)


def _put_off(partition: Partition, host: Host, now_s: float) -> None:
    """What is due to be visited again at a host that was given up has missed this visit."""
    for queue in list(host.queues):
        if queue.lane is not Lane.RECRAWL:
            continue
        head = partition.memory.store.head(host.name, (queue.crawl, queue.lane), MAX_OF_A_HOST)
        due = [entry for entry in head if entry.due_s <= now_s]
        host.queues.drop(due)
        for entry in due:
            partition.memory.drop(entry)
            past = entry.past and revisit.missed(entry.past, partition.settings.revisit)
            if past is None:
                partition.memory.done(entry, Fate.ERROR)
            else:
                due_s = revisit.due_s(past, now_s, partition.dice.random())
                partition.wait(host, entry._replace(past=past, due_s=due_s))


def _following(partition: Partition, entry: Entry, retry: Retry, now_s: float) -> Entry | None:
    """The next attempt after one that ended; ``None`` when it was the last."""
    settings = partition.settings
    if retry is Retry.LATER and entry.counted + 1 < settings.attempts:
        return again(entry, now_s)
    if retry is Retry.UNCOUNTED and entry.uncounted < settings.uncounted_attempts:
        # Nothing is wrong with the host, so its other URLs do not wait with this one.
        wait = backoff(entry.uncounted + 1, settings, partition.dice.random())
        return again(entry, now_s + wait.total_seconds())._replace(uncounted=entry.uncounted + 1)
    if retry is Retry.BROWSER and not entry.browser:
        return again(entry, now_s)._replace(uncounted=entry.uncounted + 1, browser=True)
    return None


def again(entry: Entry, due_s: float) -> Entry:
    """The next attempt of the same visit."""
    return entry._replace(attempt=entry.attempt + 1, due_s=due_s, lane=Lane.RETRY)


def _follow(partition: Partition, entry: Entry, location: str) -> None:
    """Hand a redirect's target to its host's partition, or say why not."""
    try:
        target = canonicalize(location, entry.url)
    except InvalidUrl as error:
        partition.memory.send(decision(entry, f"redirect_{error.reason}", location[:500]))
        return
    if entry.hops + 1 > partition.settings.max_hops:
        partition.memory.send(decision(entry, "too_many_redirects", target.href))
        return
    # A seed that redirects takes its crawl along: http to https, example.org to www.example.org.
    source = target.host if entry.depth == 0 else entry.host
    reason = refusal(partition.crawl(entry.crawl), source, target, entry.depth)
    if reason is not None and entry.depth > 0:
        partition.memory.send(decision(entry, f"redirect_{reason}", target.href))
        return
    partition.memory.send(redirect(entry, target))


def _robots(partition: Partition, host: Host, lease: Lease, fetch: Fetch, now_s: float) -> None:
    if fetch.outcome is Outcome.REDIRECT and lease.hops < partition.settings.robots_hops:
        try:
            target = canonicalize(fetch.redirect_to or "", fetch.url).href
        except InvalidUrl:
            target = ""
        if target:
            host.robots_moved[lease.origin] = (target, lease.hops + 1)
            return
    found = verdict(fetch, now_s)
    if isinstance(found, Rules):
        host.robots_failures = 0
        # What it asks for counts from this request on.
        asked = crawl_delay(found, partition.token, partition.settings.longest_crawl_delay)
        host.delay_s = max(host.delay_s, asked.total_seconds())
        _keep_delay(host, fetch, now_s)
        partition.rulebook.write(lease.origin, found)
        partition.memory.send(robots_version(lease.origin, found.version, fetch))
        # Every crawl that waits for the host reads by this robots.txt, whichever asked for it.
        crawls = dict.fromkeys([fetch.crawl, *(queue.crawl for queue in host.queues)])
        announce(partition, crawls, lease.origin, found)
        return
    may_change = fetch.outcome in (Outcome.OK, Outcome.REDIRECT)  # cut, or too many hops
    if CONSEQUENCES[fetch.outcome].retry is Retry.NEVER and not may_change:
        give_up(partition, host, f"robots_{fetch.outcome}", now_s)
        return
    host.robots_failures += 1
    wait = backoff(host.robots_failures, partition.settings, partition.dice.random())
    host.next_s = max(host.next_s, now_s + wait.total_seconds())
    if host.robots_failures >= ROBOTS_ATTEMPTS:
        give_up(partition, host, "robots_unavailable", now_s)


def give_up(partition: Partition, host: Host, reason: str, now_s: float) -> None:
    """What waits for a host ends, each URL with the reason; a URL that comes later tries the host anew."""
    ended = len(host.queues)
    partition.condemn(host, reason)
    _put_off(partition, host, now_s)
    host.silent = host.robots_failures = 0
    host.next_s = max(host.next_s, now_s + partition.settings.backoff_longest.total_seconds())
    partition.memory.put_host(host)
    emit(HostGivenUp(host.name, reason, ended))


def expire(partition: Partition, topic: TopicName, passed_s: float, now_s: float) -> int:
    """Take back what nobody will answer; ``passed_s``: what was released to ``topic`` before it, has been committed."""
    timeout_s = partition.settings.lease_timeout.total_seconds()
    lost = [
        name
        for name, lease in partition.leases.items()
        if lease.topic is topic and is_lost(lease, now_s, passed_s, timeout_s)
    ]
    for name in lost:
        lease = partition.leases.pop(name)
        host = partition.host(lease.host, now_s)
        host.outstanding -= 1
        host.asking -= lease.entry is None
        host.asked_s = now_s
        host.next_s = max(host.next_s, now_s + host.delay_s)
        if lease.entry is None:
            partition.memory.unlease_robots(name)
        else:
            partition.memory.unlease(lease.entry)
            _lost(partition, host, lease.entry, now_s)
        emit(LeaseLost(host.name))
        partition.schedule(host)
    return len(lost)


def _lost(partition: Partition, host: Host, entry: Entry, now_s: float) -> None:
    """Nobody will answer: try again, but not for ever, or a request that breaks its fetcher keeps its crawl open."""
    if entry.counted + 1 < partition.settings.attempts + MAX_LOST:
        partition.wait(host, again(entry, now_s))
        return
    partition.memory.done(entry, Fate.ERROR)
    partition.memory.send(decision(entry, "no_result"))
    emit(VisitEnded(Outcome.UNKNOWN))
