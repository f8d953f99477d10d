"""What a URL costs in the frontier, and how near it comes to the fastest polite order: its real code, a virtual clock.

    python -m benchmarks.frontier [--urls 200000] [--hosts 5000] [--seconds 20]

Kafka is left out: ``benchmarks.main`` measures the whole process. CPU is that of this thread inside the frontier alone.
"""

import argparse
import heapq
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks import report
from frontier import admission
from frontier.memory import Memory
from frontier.outbox import Bundle
from frontier.partition import USED, Partition
from frontier.results import settle
from frontier.store import Store
from infra.kafka.topics import TopicName
from infra.settings import FrontierSettings
from infra.telemetry.event import write_from
from schemas.outcomes import Outcome
from schemas.records import Crawl, Fetch, Links, Reason, Request
from schemas.wire import decode

LINKS_A_RECORD = 50
FIRST_BYTE_S, LATENCY_S = 0.05, 0.2
ROUND_S = 0.02
"""Virtual time between two rounds: what the stage rests under load."""
BATCH = 200
"""Records a transaction."""
CRAWL = Crawl(name="bench", scope="any", follow_robots=False, created_at=datetime.now(UTC))

Change = tuple[bytes, bytes | None]


class Bench:
    """One partition in a file, and what it has cost so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cpu_s = 0.0
        self.changes: list[Change] = []
        self.keep_changes = False
        self.memory = Memory(Store(path), 0)
        settings = FrontierSettings(delay=timedelta(seconds=1))
        self.partition = Partition(self.memory, settings, lambda _name: CRAWL, "odradek", 0.0)

    @contextmanager
    def transaction(self) -> Iterator[list[Request]]:
        """What is done in here is one transaction; afterwards the list holds the requests that came out."""
        requests: list[Request] = []
        began_s = time.thread_time()
        self.memory.store.begin()
        yield requests
        settled = self.memory.settle("bench/1")
        self.memory.store.commit()
        if settled is not None:
            self.memory.store.begin()
            self.memory.store.paid(settled[0])
            self.memory.store.commit()
        self.cpu_s += time.thread_time() - began_s
        if settled is not None:
            requests += self._published(settled[1])

    def _published(self, bundle: Bundle) -> list[Request]:
        if self.keep_changes:
            self.changes += [(change.key or b"", change.value) for change in bundle.changes]
        return [decode(Request, record.value) for record in bundle.rest if record.topic is TopicName.URLS]

    def take_cpu_s(self) -> float:
        """What it has cost since the last call."""
        cpu_s, self.cpu_s = self.cpu_s, 0.0
        return cpu_s


def links(host: str, numbers: range) -> Links:
    """A record of links of one host."""
    urls = [f"http://{host}/documents/section-{number % 97}/page-{number}.html" for number in numbers]
    return Links(crawl=CRAWL.name, host=host, reason=Reason.LINK, depth=1, urls=urls)


def zipf(urls: int, hosts: int) -> list[int]:
    """URLs of each host: the n-th has a share of 1/n, each has one at least."""
    weight = sum(1 / (rank + 1) for rank in range(hosts))
    return [max(1, round(urls / weight / (rank + 1))) for rank in range(hosts)]


def admit(bench: Bench, sizes: list[int]) -> int:
    """Hand every URL of every host over, the hosts mixed; returns how many there were."""
    records = [
        links(f"host-{host}.test", range(begin, min(begin + LINKS_A_RECORD, size)))
        for host, size in enumerate(sizes)
        for begin in range(0, size, LINKS_A_RECORD)
    ]
    random.Random(1).shuffle(records)
    for begin in range(0, len(records), BATCH):
        with bench.transaction():
            for record in records[begin : begin + BATCH]:
                admission.admit(bench.partition, record, None, 0.0)
    return sum(len(record.urls) for record in records)


def crawl(bench: Bench, seconds: float) -> int:
    """Let the virtual web answer for so long; returns how many pages were fetched."""
    fetched, now_s = 0, 0.0
    answers: list[tuple[float, int, Request]] = []
    while now_s < seconds:
        done: list[Fetch] = []
        while answers and answers[0][0] <= now_s:
            done.append(answer(heapq.heappop(answers)[2]))
        with bench.transaction() as requests:
            for fetch in done:
                settle(bench.partition, fetch, now_s)
            bench.partition.release(now_s)
        for request in requests:
            fetched += 1
            heapq.heappush(answers, (now_s + LATENCY_S, fetched, request))
        now_s += ROUND_S
    return fetched


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


def bound(sizes: list[int], seconds: float) -> int:
    """The most pages that politeness allows: a delay runs from the first byte, and one request is out at a time."""
    cycle_s = max(1.0 + FIRST_BYTE_S, LATENCY_S)
    return sum(min(size, 1 + int((seconds - 1e-9) / cycle_s)) for size in sizes)


def restore(changes: list[Change], path: Path) -> float:
    """CPU-seconds to make the store anew from the changelog, for each million changes."""
    began_s = time.thread_time()
    store = Store(path)
    memory = Memory(store, 0)
    for begin in range(0, len(changes), 10_000):
        store.begin()
        for key, value in changes[begin : begin + 10_000]:
            memory.apply(key, value)
        memory.forget()
        store.commit()
    store.close()
    return (time.thread_time() - began_s) / len(changes) * 1e6


def reopen(path: Path) -> float:
    """CPU-seconds to open a file that was closed in good order."""
    began_s = time.thread_time()
    Bench(path).memory.store.close()
    return time.thread_time() - began_s


def run(urls: int, hosts: int, seconds: float, directory: Path) -> dict[str, object]:
    """All the figures."""
    sizes = zipf(urls, hosts)
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bench = Bench(directory / "partition.sqlite")
    new = admit(bench, sizes)
    new_cpu_s = bench.take_cpu_s()
    known = admit(bench, sizes)
    known_cpu_s = bench.take_cpu_s()
    bench.memory.store.begin()
    bench.memory.store.set_meta(USED, 1)
    bench.memory.store.commit()
    fetched = crawl(bench, seconds)
    crawl_cpu_s = bench.take_cpu_s()
    bench.memory.store.close()
    memory_bytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib) * 1024
    # Once more, for the changes alone: they would have counted as memory above.
    writer = Bench(directory / "writer.sqlite")
    writer.keep_changes = True
    admit(writer, sizes)
    return {
        "urls": new,
        "hosts": hosts,
        "new_urls_a_cpu_second": round(new / new_cpu_s),
        "known_urls_a_cpu_second": round(known / known_cpu_s),
        "cpu_ms_a_page_released_and_settled": round(crawl_cpu_s / max(1, fetched) * 1000, 3),
        "pages": fetched,
        "of_the_polite_bound": round(fetched / bound(sizes, seconds), 4),
        "disk_bytes_a_url": round((directory / "partition.sqlite").stat().st_size / new),
        "memory_bytes_a_url": round(memory_bytes / new),
        "restore_cpu_s_a_million": round(restore(writer.changes, directory / "restored.sqlite"), 1),
        "reopen_cpu_s": round(reopen(directory / "partition.sqlite"), 2),
    }


def main() -> None:
    """Run the benchmark."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--urls", type=int, default=200_000)
    options.add_argument("--hosts", type=int, default=5_000)
    options.add_argument("--seconds", type=float, default=20.0, help="of virtual time")
    chosen = options.parse_args()
    write_from("info")
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as directory:
        result = run(chosen.urls, chosen.hosts, chosen.seconds, Path(directory))
    report.tell("frontier", result)


if __name__ == "__main__":
    main()
