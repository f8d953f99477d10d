"""What the frontier knows of one URL, and why it is not fetched yet. Pure: the clock is passed in."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal

from frontier.entry import Entry, fingerprint, unpack
from frontier.host import Host
from frontier.partition import Partition
from frontier.robots import allows, crawl_delay, deciding_rule
from schemas.url import split

State = Literal["unknown", "waiting", "fetching", "ended"]


def explain(partition: Partition, crawl: str, url: str, now_s: float) -> dict[str, object]:
    """What the partition holds of a canonical URL, as JSON has it; times in ISO 8601.

    ``state`` is ``unknown`` (never handed over), ``waiting`` (then ``why`` says for what), ``fetching`` or ``ended``
    (then ``ending`` says how, and ``reason`` why it was refused). ``url`` is what it is known as, without a session;
    ``trap`` the rule by which it is one.
    """
    url = partition.traps.without_session(url)
    target = split(url)
    host = partition.host(target.host, now_s)
    found = _state(partition, host, fingerprint(crawl, url), now_s)
    found |= {"url": url, "trap": partition.traps.rule(url, datetime.fromtimestamp(now_s, UTC).year)}
    found |= {"host": _host(host, now_s), "robots": _robots(partition, target.origin, url)}
    # One that was not in memory leaves it again.
    partition.schedule(host)
    return found


def _state(partition: Partition, host: Host, key: bytes, now_s: float) -> dict[str, object]:
    store = partition.memory.store
    leased = store.lease_of(key)
    if leased is not None:
        lease = partition.leases.get(leased[0])
        since = None if lease is None else _iso(lease.released_s)
        return {"state": "fetching", "entry": _entry(unpack(key, leased[1])), "released_at": since}
    entry = store.queued(key)
    if entry is not None:
        return {"state": "waiting", "entry": _entry(entry), "why": why(partition, host, entry, now_s)}
    if not store.knows(key):
        return {"state": "unknown"}
    ending = store.ended(key)
    parts = [] if ending is None else ending.split("/")
    return {"state": "ended", "ending": parts[1] if parts else None, "reason": parts[3] if len(parts) > 3 else None}


def why(partition: Partition, host: Host, entry: Entry, now_s: float) -> str:
    """What a URL that waits is waiting for, in words; the first of the reasons that hold."""
    refusal = host.condemned or partition.orders.refusal(entry.crawl, host.name, entry.url)
    left_s = max(host.next_s - now_s, 0.0)
    more = f"{left_s:.1f} s more"
    reasons: dict[str, object] = {
        f"it will be refused in a moment: {refusal}": refusal,
        "an operator paused its crawl or its host": partition.orders.is_paused(entry.crawl, host.name),
        "the host's robots.txt is being fetched": host.asking,
        f"the host is being asked: {host.outstanding} at a time": not host.has_room(partition.settings.per_host),
        f"the host was in trouble {host.failures} times in a row: {more}": left_s and host.failures,
        f"its robots.txt could not be had {host.robots_failures} times: {more}": left_s and host.robots_failures,
        f"the host's delay of {host.delay_s:g} s runs: {more}": left_s,
        f"it is tried again in {entry.due_s - now_s:.1f} s": entry.due_s > now_s,
    }
    fallback = f"its turn among {len(host.queues):,} URLs of the host"
    return next((text for text, holds in reasons.items() if holds), fallback)


def _host(host: Host, now_s: float) -> Mapping[str, object]:
    return {
        "next_at": _iso(max(host.next_s, now_s)),
        "delay_s": host.delay_s,
        "outstanding": host.outstanding,
        "circuit": host.circuit(now_s),
        "failures": host.failures,
        "robots_failures": host.robots_failures,
        "queued": {f"{queue.crawl}/{queue.lane}": queue.queued for queue in host.queues},
    }


def _entry(entry: Entry) -> Mapping[str, object]:
    return {
        "lane": entry.lane,
        "rank": entry.rank,
        "depth": entry.depth,
        "hops": entry.hops,
        "parent": entry.parent,
        "visit": entry.visit,
        "attempt": entry.attempt,
    }


def _robots(partition: Partition, origin: str, url: str) -> Mapping[str, object] | None:
    rules = partition.rulebook.read(origin)
    if rules is None:
        return None
    return {
        "version": rules.version,
        "read_at": _iso(rules.read_s),
        "allowed": allows(rules, url, partition.token),
        "rule": deciding_rule(rules, url, partition.token),
        "crawl_delay_s": crawl_delay(rules, partition.token, partition.settings.longest_crawl_delay).total_seconds(),
    }


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
