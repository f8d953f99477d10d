"""What a URL costs in the frontier, and how near it comes to the fastest polite order: its real code, a virtual clock.

    python -m benchmarks.frontier [--urls 200000] [--hosts 5000] [--seconds 60]

Kafka is left out: ``benchmarks.main`` measures the whole process. CPU is that of this thread inside the frontier alone.
"""

import argparse
import pickle
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

from benchmarks import report
from benchmarks.simulator import CRAWL, DELAY_S, LINKS_A_RECORD, Burst, arrivals, bound, crawl, links, zipf
from frontier import admission
from frontier.memory import Memory
from frontier.outbox import Bundle
from frontier.partition import Partition
from frontier.rebuild import Change, rebuild
from frontier.store import Store
from infra.kafka.topics import TopicName
from infra.settings import FrontierSettings
from infra.telemetry.event import write_from
from schemas.records import Request
from schemas.wire import decode

BATCH = 200
"""Records a transaction."""


class Bench:
    """One partition in a file, and what it has cost so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cpu_s = 0.0
        self.changelog: BinaryIO | None = None
        """Where to write the changes down, in batches as :func:`read` reads them."""
        self.memory = Memory(Store(path), 0)
        settings = FrontierSettings(delay=timedelta(seconds=DELAY_S))
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
        if self.changelog is not None:
            pickle.dump([(change.key or b"", change.value) for change in bundle.changes], self.changelog)
        return [decode(Request, record.value) for record in bundle.rest if record.topic is TopicName.URLS]

    def take_cpu_s(self) -> float:
        """What it has cost since the last call."""
        cpu_s, self.cpu_s = self.cpu_s, 0.0
        return cpu_s


def admit(bench: Bench, sizes: list[int]) -> int:
    """Hand every URL of every host over, the hosts mixed; returns how many there were."""
    bursts = [
        Burst(0.0, host, range(begin, min(begin + LINKS_A_RECORD, size)))
        for host, size in enumerate(sizes)
        for begin in range(0, size, LINKS_A_RECORD)
    ]
    random.Random(1).shuffle(bursts)
    for begin in range(0, len(bursts), BATCH):
        records = [links(burst) for burst in bursts[begin : begin + BATCH]]
        with bench.transaction():
            for record in records:
                admission.admit(bench.partition, record, None, 0.0)
    return sum(sizes)


def read(changelog: Path) -> Iterator[list[Change]]:
    """The changes in a file, in batches."""
    with changelog.open("rb") as file:
        while file.peek(1):
            yield pickle.load(file)  # we wrote it


def restore(changelog: Path, path: Path) -> float:
    """CPU-seconds to make the store anew from the changelog, for each million changes."""
    began_s = time.thread_time()
    changes = rebuild(path, 0, read(changelog))
    return (time.thread_time() - began_s) / changes * 1e6


def reopen(path: Path) -> float:
    """CPU-seconds to open a file that was closed in good order."""
    began_s = time.thread_time()
    Bench(path).memory.store.close()
    return time.thread_time() - began_s


def politeness(hosts: int, seconds: float, directory: Path) -> dict[str, object]:
    """How near a crawl of so many seconds comes to the most that politeness allows, and what a page costs then.

    The smallest hosts have work for all the time as well, and of the large ones no more is queued than can matter:
    politeness is what bounds each.
    """
    sizes = [min(size, int(2 * seconds)) for size in zipf(int(10 * seconds * hosts), hosts)]
    bench = Bench(directory / "crawl.sqlite")
    bursts = arrivals(sizes, seconds)
    pages = crawl(bench, bursts, seconds)
    bench.memory.store.close()
    return {
        "virtual_seconds": seconds,
        "pages": pages,
        "of_the_polite_bound": round(pages / bound(bursts, seconds), 4),
        "cpu_ms_a_page_from_link_to_end": round(bench.cpu_s / pages * 1000, 3),
    }


def memory(sizes: list[int], directory: Path) -> dict[str, object]:
    """What a URL costs: to check, to keep, to get back."""
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bench = Bench(directory / "partition.sqlite")
    with (directory / "changelog").open("wb") as bench.changelog:
        new = admit(bench, sizes)
    new_cpu_s = bench.take_cpu_s()
    known = admit(bench, sizes)
    known_cpu_s = bench.take_cpu_s()
    bench.memory.store.close()
    memory_bytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib) * 1024
    return {
        "urls": new,
        "new_urls_a_cpu_second": round(new / new_cpu_s),
        "known_urls_a_cpu_second": round(known / known_cpu_s),
        "disk_bytes_a_url": round((directory / "partition.sqlite").stat().st_size / new),
        "memory_bytes_a_url": round(memory_bytes / new),
        "restore_cpu_s_a_million": round(restore(directory / "changelog", directory / "restored.sqlite"), 1),
        "reopen_cpu_s": round(reopen(directory / "partition.sqlite"), 2),
    }


def main() -> None:
    """Run the benchmark."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--urls", type=int, default=200_000)
    options.add_argument("--hosts", type=int, default=5_000)
    options.add_argument("--seconds", type=float, default=60.0, help="of virtual time; 0 for none")
    chosen = options.parse_args()
    write_from("info")
    sizes = zipf(chosen.urls, chosen.hosts)
    result: dict[str, object] = {"hosts": chosen.hosts}
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as directory:
        result |= memory(sizes, Path(directory))
        if chosen.seconds:
            result |= politeness(chosen.hosts, chosen.seconds, Path(directory))
    report.tell("frontier", result)


if __name__ == "__main__":
    main()
