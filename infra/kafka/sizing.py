"""From pages a day to partitions, disks and networks: the arithmetic behind the manifests and the guide. Pure.

Every constant is a measurement with its source beside it; whoever measures better changes one line here.
"""

import math
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from infra.kafka.topics import TopicName, all_topics

DAY_S = 86_400
PEAK = 2.0
"""Over the mean: crawls come in waves."""
FULL = 0.7
"""Of a disk that may be used: compaction and a broker that catches up need room."""
PARTITION_PAGES_S = 25.0
"""What one partition should carry at the mean. One frontier partition decides for several hundred pages a second; the
number is for spreading: a consumer can take no less than a partition, and 3 to 20 workers should share evenly."""


class Traffic(NamedTuple):
    """What one crawled page puts into a topic."""

    bytes_stored: float
    """As the broker stores them, compressed, framing included."""
    reads: int
    """Consumer groups that read it."""


PER_PAGE: dict[TopicName, Traffic] = {
    TopicName.SEEDS: Traffic(0.0, 1),
    # Some ten new links of each page, most of them to its own host, in one record.
    TopicName.LINKS: Traffic(1_000.0, 1),
    TopicName.URLS: Traffic(190.0, 1),
    TopicName.FETCHES: Traffic(240.0, 2),
    TopicName.PAGES: Traffic(31_500.0, 1),
    TopicName.DOCUMENTS: Traffic(7_500.0, 1),
    # A new entry for each new link, and what its visit changes.
    TopicName.FRONTIER_STATE: Traffic(1_200.0, 0),
    TopicName.ROBOTS: Traffic(20.0, 0),
    TopicName.EVENTS: Traffic(40.0, 1),
    TopicName.DEAD_LETTERS: Traffic(2.0, 0),
}
"""Heartbeats and control are constant and small.

Pages and documents: the mean of 94 real article pages (150 kB plain, 31 kB gzipped; documents as the cleaner encodes
them, lz4). Urls and fetches: read from a broker's logs after a crawl of 3,000 pages. Links and state depend on how many
new links a page has; ten is what a crawl has while it still grows."""


@dataclass(frozen=True)
class Size:
    """What a pace needs."""

    pages_s: float
    partitions: int
    written_mb_s: float
    """By all producers, before replication, at the peak."""
    broker_in_mb_s: float
    """At each broker, its own writes and its part of the replication, at the peak."""
    broker_out_mb_s: float
    """At each broker, consumers and replication, at the peak."""
    disk_gib: float
    """At each broker, so that all that is retained fits."""
    state_gib: float
    """Of ``frontier-state`` and of all frontier disks together, for the URLs known after a year."""


def size(pages_a_day: float, *, brokers: int = 3, copies: int = 3) -> Size:
    """The need of a pace that is held all day."""
    pages_s = pages_a_day / DAY_S
    written = sum(each.bytes_stored for each in PER_PAGE.values()) * pages_s
    read = sum(each.bytes_stored * each.reads for each in PER_PAGE.values()) * pages_s
    # What is compacted is counted below; it does not go by time.
    kept = sum(retained_bytes(topic, pages_s) for topic in PER_PAGE)
    return Size(
        pages_s=pages_s,
        partitions=partitions(pages_s),
        written_mb_s=PEAK * written / 1e6,
        broker_in_mb_s=PEAK * written * copies / brokers / 1e6,
        broker_out_mb_s=PEAK * (read + written * (copies - 1)) / brokers / 1e6,
        disk_gib=kept * copies / brokers / FULL / 2**30,
        state_gib=known_urls_bytes(pages_a_day * 365) / 2**30,
    )


def partitions(pages_s: float) -> int:
    """Of each co-partitioned topic: a multiple of 12, which 2, 3, 4, 6 and 12 workers share evenly."""
    return 12 * max(1, math.ceil(pages_s / PARTITION_PAGES_S / 12))


def retained_bytes(topic: TopicName, pages_s: float) -> float:
    """What the topic holds when its retention begins to bite: by time or by size, whichever comes first."""
    described = all_topics()[topic]
    if described.cleanup == "compact":
        return 0.0
    by_time = PER_PAGE[topic].bytes_stored * pages_s * (described.retention or timedelta(days=30)).total_seconds()
    by_size = math.inf if described.retention_gib is None else described.retention_gib * 2**30
    return min(by_time, by_size)


URL_STATE_BYTES = 130.0
"""One known URL: its fingerprint, where it was found, its next visit; in the store, and in the compacted changelog."""


def known_urls_bytes(urls: float) -> float:
    """What the frontier keeps of so many URLs."""
    return urls * URL_STATE_BYTES


def held(topic: TopicName, pages_s: float) -> timedelta | None:
    """How far back the topic reaches at this pace; ``None`` for what is compacted or nearly empty."""
    rate = PER_PAGE[topic].bytes_stored * pages_s
    if all_topics()[topic].cleanup == "compact" or rate == 0:
        return None
    return timedelta(seconds=retained_bytes(topic, pages_s) / rate)
