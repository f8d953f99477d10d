"""The web and the time that the frontier's benchmark runs in: both virtual, the frontier between them is the real one.

Half of all links are known from the start, the rest come in bursts for one host at a time, as pages that list many
links to one place make them. Rounds follow each other as in :mod:`frontier.stage`: woken by what arrives or is due,
then a rest as long as the stage's pace says. Kafka's way, some milliseconds each, is left out; so are robots.txt and
failures.
"""

import heapq
import random
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from operator import attrgetter
from typing import NamedTuple, Protocol

from frontier.admission import admit
from frontier.partition import Partition
from frontier.results import settle
from frontier.stage import LONGEST_WAIT_S
from infra.kafka.producer import Pace
from schemas.outcomes import Outcome
from schemas.records import Crawl, Fetch, Links, Reason, Request

CRAWL = Crawl(name="bench", scope="any", follow_robots=False, created_at=datetime.now(UTC))
DELAY_S = 1.0
FIRST_BYTE_S, LATENCY_S = 0.05, 0.2
LINKS_A_RECORD = 50


class Burst(NamedTuple):
    """Links of one host that come at once: their numbers."""

    at_s: float
    host: int
    numbers: range


class Driven(Protocol):
    """A frontier of one partition; its transactions tell which requests came out."""

    partition: Partition

    def transaction(self) -> AbstractContextManager[list[Request]]:
        """Once it has ended, the list holds the requests."""
        ...


def zipf(urls: int, hosts: int) -> list[int]:
    """URLs of each host: the n-th has a share of 1/n, each has one at least."""
    weight = sum(1 / (rank + 1) for rank in range(hosts))
    return [max(1, round(urls / weight / (rank + 1))) for rank in range(hosts)]


def arrivals(sizes: Sequence[int], seconds: float) -> list[Burst]:
    """When the links of each host come, in the order of time: half at once, the rest in bursts at any time."""
    dice = random.Random(1)
    bursts = []
    for host, size in enumerate(sizes):
        begin = 0
        while begin < size:
            burst = dice.randint(1, LINKS_A_RECORD)
            at_s = 0.0 if begin < size / 2 else dice.uniform(0.0, seconds)
            bursts.append(Burst(at_s, host, range(begin, min(begin + burst, size))))
            begin += burst
    return sorted(bursts, key=attrgetter("at_s"))


def links(burst: Burst) -> Links:
    """The record that brings a burst."""
    name = f"host-{burst.host}.test"
    urls = [f"http://{name}/documents/section-{number % 97}/page-{number}.html" for number in burst.numbers]
    return Links(crawl=CRAWL.name, host=name, reason=Reason.LINK, depth=1, urls=urls)


def bound(bursts: Sequence[Burst], seconds: float) -> int:
    """The most pages that politeness allows: a delay runs from the first byte, and one request is out at a time."""
    cycle_s = max(DELAY_S + FIRST_BYTE_S, LATENCY_S)
    free_s: dict[int, float] = {}
    pages = 0
    for burst in bursts:
        at_s = max(burst.at_s, free_s.get(burst.host, 0.0))
        for _ in burst.numbers:
            if at_s >= seconds:
                break
            pages += 1
            at_s += cycle_s
        free_s[burst.host] = at_s
    return pages


class Answers:
    """Requests that are out, by the time of their answer."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Request]] = []
        self.asked = 0

    def next_s(self) -> float:
        """When the next answer comes."""
        return self._heap[0][0] if self._heap else float("inf")

    def ask(self, request: Request, now_s: float) -> None:
        """Let the web answer a request."""
        self.asked += 1
        heapq.heappush(self._heap, (now_s + LATENCY_S, self.asked, request))

    def until(self, now_s: float) -> Iterator[Fetch]:
        """The answers that have come."""
        while self._heap and self._heap[0][0] <= now_s:
            yield answer(heapq.heappop(self._heap)[2])


def answer(request: Request) -> Fetch:
    """A good page."""
    same = ("crawl", "url", "url_id", "host", "kind", "lease", "visit", "attempt", "depth", "hops", "parent", "robots")
    unknown = (
        *("dns_ms", "connect_ms", "cut", "content_type", "redirect_to", "retry_after", "etag", "last_modified"),
        *("remote_address", "error"),
    )
    return Fetch.model_validate(
        dict.fromkeys(unknown)
        | {name: getattr(request, name) for name in same}
        | {"fetch_id": "f", "outcome": Outcome.OK, "status": 200, "started_at": datetime.now(UTC), "worker": "w"}
        | {"first_byte_ms": FIRST_BYTE_S * 1000, "total_ms": LATENCY_S * 1000, "body_bytes": 20_000}
    )


def crawl(driven: Driven, bursts: Sequence[Burst], seconds: float) -> int:
    """Let time pass; returns how many requests came out."""
    answers, pace = Answers(), Pace()
    coming = list(reversed(bursts))
    began_s = 0.0
    while True:
        due_s = driven.partition.next_s()
        arrives_s = min(answers.next_s(), coming[-1].at_s if coming else float("inf"))
        now_s = max(began_s, min(arrives_s, float("inf") if due_s is None else due_s, began_s + LONGEST_WAIT_S))
        if now_s >= seconds:
            return answers.asked
        fetches = list(answers.until(now_s))
        batch = []
        while coming and coming[-1].at_s <= now_s:
            batch.append(links(coming.pop()))
        with driven.transaction() as requests:
            for fetch in fetches:
                settle(driven.partition, fetch, now_s)
            for record in batch:
                admit(driven.partition, record, None, now_s)
            driven.partition.release(now_s)
        for request in requests:
            answers.ask(request, now_s)
        records = len(fetches) + len(batch)
        rest_s = pace.rest_s(records, driven.partition.longest_rest_s) if records else 0.0
        began_s = max(now_s, began_s + rest_s)
