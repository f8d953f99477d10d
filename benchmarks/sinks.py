"""What a row costs in each store, beside the store's bare client in the same run.

    python -m benchmarks.sinks [--rows 4000] [--rounds 3] [--only postgres,redis]

Documents of about 10 kB with 50 links, in writes of 2,000. ``bare`` is the shortest program that puts the same values
into the same table with the store's own client: rows that lie there ready, no keys compared, nothing checked. ``ours``
is a sink's write, from records to durable rows, each once. ``whole`` begins with the bytes in Kafka: decoding,
selection, breaker and counting included. CPU is that of this process, threads and embedded engines with it, not of
servers. Rounds of bare and ours alternate; the median counts. ``replay`` is the same write again, ``small ms`` one of
100 rows, p50 and p99. Servers are started for it. Writes ``build/bench/sinks.json``.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from benchmarks import report
from benchmarks.sinks_bare import Bare, bare_clickhouse, bare_postgres, bare_redis, bare_sqlite
from infra.kafka.inbound import Inbound
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.settings.sinks import StoreSettings
from infra.telemetry.event import write_from
from schemas.records import Document
from sinks.feed import Writer
from sinks.sink import Block, Sink
from sinks.stores import make_sink
from tests.stores.servers import Servers
from tests.unit.sinks.sink_samples import block_of, document, inbound

TOPIC = TopicName.DOCUMENTS
AT_ONCE = 2_000
SMALL = 100
SMALL_WRITES = 60


class Contender(NamedTuple):
    """A store to be measured, and its bare client."""

    dsn: str
    bare: Bare


class Cost(NamedTuple):
    """Of one run over all rows."""

    wall_s: float
    cpu_s: float


def main() -> None:
    """Run the benchmark."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--rows", type=int, default=4_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--only", default="")
    chosen = options.parse_args()
    write_from("warning")
    servers = Servers()
    found: dict[str, Mapping[str, float]] = {}
    try:
        for name, make in CONTENDERS.items():
            if chosen.only and name not in chosen.only.split(","):
                continue
            try:
                with tempfile.TemporaryDirectory(prefix="odradek-bench-") as directory:
                    found[name] = asyncio.run(measure(make(servers, Path(directory)), chosen, Path(directory)))
            except pytest.skip.Exception as missing:
                print(f"{name}: {missing}")
    finally:
        servers.remove()
    _show(found)
    print(f"written to {report.write('sinks', {'rows': chosen.rows, 'stores': found})}")


def _show(found: Mapping[str, Mapping[str, float]]) -> None:
    columns = next(iter(found.values()), {})
    print(f"{'':12}" + "".join(f"{name:>18}" for name in columns))
    for name, row in found.items():
        print(f"{name:12}" + "".join(f"{value:18,.3f}" for value in row.values()))


async def measure(contender: Contender, chosen: argparse.Namespace, directory: Path) -> Mapping[str, float]:
    """The figures of one store."""
    store = StoreSettings(dsn=contender.dsn)
    sink = make_sink("bench", store, Settings(data_dir=directory))
    await sink.open()
    costs: dict[str, list[Cost]] = {"bare": [], "ours": [], "replay": [], "whole": []}
    try:
        for number in range(chosen.rounds):
            # Other rows each time, so that all of them are new.
            records = {kind: documents(f"{kind}-{number}", chosen.rows) for kind in ("bare", "ours", "whole")}
            cut = blocks(records["ours"])
            raw = [inbound(TOPIC, place, record) for place, record in enumerate(records["whole"])]
            rows = await asyncio.to_thread(contender.bare.prepare, blocks(records["bare"]))
            costs["bare"].append(await timed(lambda rows=rows: asyncio.to_thread(contender.bare.write, rows)))  # type: ignore[misc]
            costs["ours"].append(await timed(lambda cut=cut: _write(sink, cut)))  # type: ignore[misc]
            costs["replay"].append(await timed(lambda cut=cut: _write(sink, cut)))  # type: ignore[misc]
            writer = Writer("bench", store, sink)
            costs["whole"].append(await timed(lambda raw=raw, writer=writer: _take(writer, raw)))  # type: ignore[misc]
        small = [await timed(lambda each=each: _write(sink, each)) for each in _small()]  # type: ignore[misc]
    finally:
        await sink.close()
        contender.bare.close()
    return _figures(costs, [cost.wall_s * 1000 for cost in small], chosen.rows)


def _figures(costs: Mapping[str, Sequence[Cost]], small_ms: Sequence[float], rows: int) -> Mapping[str, float]:
    wall = {kind: statistics.median(cost.wall_s for cost in each) for kind, each in costs.items()}
    cpu = {kind: statistics.median(cost.cpu_s for cost in each) * 1000 / rows for kind, each in costs.items()}
    percent = statistics.quantiles(small_ms, n=100)
    return {
        "bare rows/s": rows / wall["bare"],
        "ours rows/s": rows / wall["ours"],
        "whole rows/s": rows / wall["whole"],
        "bare CPU-s/1000": cpu["bare"],
        "ours CPU-s/1000": cpu["ours"],
        "replay CPU-s/1000": cpu["replay"],
        "whole CPU-s/1000": cpu["whole"],
        "times bare, CPU": cpu["ours"] / cpu["bare"],
        "times bare, wall": wall["ours"] / wall["bare"],
        "small ms p50": percent[49],
        "small ms p99": percent[98],
    }


async def timed(work: Callable[[], Awaitable[object]]) -> Cost:
    """What ``work`` costs."""
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    await work()
    return Cost(time.perf_counter() - wall_s, time.process_time() - cpu_s)


async def _write(sink: Sink, cut: Sequence[Block]) -> None:
    for each in cut:
        await sink.write(TOPIC, [each])


async def _take(writer: Writer, raw: Sequence[Inbound]) -> None:
    for first in range(0, len(raw), AT_ONCE):
        await writer.write(TOPIC, raw[first : first + AT_ONCE])


def _small() -> list[list[Block]]:
    return [[block_of(TOPIC, *documents(f"small-{number}", SMALL))] for number in range(SMALL_WRITES)]


def documents(crawl: str, count: int) -> list[Document]:
    """Pages of words, with links."""
    dice = Random(crawl)
    words = ["".join(dice.choices("etaoinshrdlu", k=dice.randint(2, 9))) for _ in range(2_000)]
    made = []
    for number in range(count):
        links = [f"http://h{dice.randrange(100)}.test/{'/'.join(dice.choices(words, k=4))}" for _ in range(50)]
        anchors = [" ".join(dice.choices(words, k=3)) for _ in links]
        text = "\n".join(" ".join(dice.choices(words, k=60)) for _ in range(18))
        made.append(document(number, crawl, text=text, links=links, anchors=anchors))
    return made


def blocks(records: Sequence[Document]) -> list[Block]:
    """One for each write."""
    return [
        block_of(TOPIC, *records[first : first + AT_ONCE], first=first) for first in range(0, len(records), AT_ONCE)
    ]


def _clickhouse(_servers: Servers, directory: Path) -> Contender:
    return Contender("clickhouse:", bare_clickhouse(directory / "clickhouse"))


def _sqlite(_servers: Servers, directory: Path) -> Contender:
    return Contender("sqlite:", bare_sqlite(directory / "bare.sqlite"))


def _postgres(servers: Servers, _directory: Path) -> Contender:
    database, bare = servers.postgres.new_database(), servers.postgres.new_database()
    return Contender(servers.postgres.dsn(database), bare_postgres(servers.postgres.dsn(bare)))


def _redis(servers: Servers, _directory: Path) -> Contender:
    return Contender(servers.redis.dsn(), bare_redis(servers.redis.client()))


CONTENDERS: Mapping[str, Callable[[Servers, Path], Contender]] = {
    "clickhouse": _clickhouse,
    "sqlite": _sqlite,
    "postgres": _postgres,
    "redis": _redis,
}


if __name__ == "__main__":
    main()
