"""Which hosts have work, and what each waits for. Pure: the clock is passed in."""

from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest

from frontier.host import Host
from frontier.partition import Partition


def busiest(partitions: Iterable[Partition], search: str, limit: int, now_s: float) -> Sequence[Mapping[str, object]]:
    """Of the hosts whose names hold ``search``, the ``limit`` with most URLs waiting, as JSON has them.

    Those with work alone: a host whose delay still runs waits for nothing.
    """
    found = (
        (len(host.queues), host)
        for partition in partitions
        for host in partition.hosts()
        if not host.idle and search in host.name
    )
    return [_told(host, queued, now_s) for queued, host in nlargest(limit, found, key=lambda pair: pair[0])]


def _told(host: Host, queued: int, now_s: float) -> Mapping[str, object]:
    return {
        "host": host.name,
        "queued": queued,
        "outstanding": host.outstanding,
        "asking_robots": host.asking > 0,
        "delay_s": host.delay_s,
        "wait_s": max(host.next_s - now_s, 0.0),
        "circuit": host.circuit(now_s),
        "failures": host.failures,
        "silent": host.silent,
        "robots_failures": host.robots_failures,
        "given_up": host.condemned,
    }
