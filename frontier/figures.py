"""The frontier's figures for its heartbeat: sums of what is counted as it happens, never a count of what there is."""

from collections import Counter
from collections.abc import Iterable

from frontier.entry import Fate
from frontier.owned import Owned

QUEUED, LEASED = "queued", "leased"
REVISITS, AGAIN = "revisits", "again"
"""What waits to be visited again, and what is just being visited again: both are pages already."""
_SEEN = {QUEUED, LEASED, *(fate.value for fate in Fate)}
"""A URL that was seen is exactly one of these."""


def figures(partitions: Iterable[Owned]) -> Counter[str]:
    """``crawl/NAME/...`` of each crawl, and over all crawls what follows.

    ============== =====================================================================
    queued         URLs that wait: for their host, its robots.txt, or another attempt
    leased         requests that are out, those for robots.txt included
    waiting_robots of these: for robots.txt; their hosts wait for the answer
    revisits       URLs that wait for the time of their next visit
    seen           URLs that were ever taken
    hosts          hosts in memory: with work, or with a delay that still runs
    outbox         transactions of which the broker does not have all yet
    ============== =====================================================================
    """
    total: Counter[str] = Counter()
    over_all: Counter[str] = Counter()
    for owned in partitions:
        total.update(owned.memory.counts)
        over_all["hosts"] += len(owned.partition.hosts())
        over_all["outbox"] += len(owned.publisher)
        over_all["leased"] += len(owned.partition.leases)
    over_all["waiting_robots"] = over_all["leased"]
    for name, count in total.items():
        what = name.rpartition("/")[2]
        over_all["queued"] += count if what == QUEUED else 0
        over_all["waiting_robots"] -= count if what == LEASED else 0
        over_all["revisits"] += count if what == REVISITS else 0
        over_all["seen"] += count if what in _SEEN else -count if what == AGAIN else 0
    total.update(over_all)
    return total
