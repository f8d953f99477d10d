"""The whole pipeline on a generated site: pages/s, CPU by process, time from fetch to row.

    python -m benchmarks.main [--hosts 50] [--pages-per-host 400] [--plain] [--keep]

Prints a table and writes ``build/bench/main.json``. CPU is user and system time of each process from its start until
the crawl was found finished, children included, start-up included, and the broker's too; the site's own is left out.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks import report
from benchmarks.site import Shape
from infra.cli.crawl import Reach, define
from infra.cli.seed import send_seeds
from infra.cli.watch import Outcome, watch
from infra.devstack.local import local_stack
from infra.kafka.admin import Topics
from infra.kafka.heartbeats import Heartbeats
from infra.run import wanted_stages
from infra.settings import load
from schemas.records import Crawl

_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Run the benchmark."""
    options = _options()
    shape = Shape(options.hosts, options.pages_per_host, not options.plain)
    directory = Path(tempfile.mkdtemp(prefix="odradek-bench-"))
    try:
        with site(shape) as port:
            result = run(shape, port, directory)
    finally:
        if not options.keep:
            shutil.rmtree(directory, ignore_errors=True)
    _show(result, report.write("main", result))


def run(shape: Shape, port: int, directory: Path) -> dict[str, object]:
    """Crawl the site once; the figures."""
    settings = load(data_dir=directory)
    seeds = shape.seeds(port)
    crawl = Crawl(name="bench", anchors=seeds, delay_ms=0, created_at=datetime.now(UTC))
    reach = Reach({"*.bench.test": "127.0.0.1"}, ["127.0.0.0/8"])
    with local_stack(settings, reach.environment(settings)) as stages:
        Topics(stages.settings).create()
        define(stages.settings, crawl)
        started_s = time.monotonic()
        stages.start(wanted_stages(settings))
        send_seeds(stages.settings, seeds, crawl.name)
        outcome = watch(stages.settings, crawl.name, started_s, stages.check)
        cpu = {stage: cpu_s(pid) for stage, pid in stages.pids().items()}
        if stages.broker_pid is not None:
            cpu["broker"] = cpu_s(stages.broker_pid)
        latency = _latency(Heartbeats(stages.settings))
    return _result(outcome, cpu, latency)


def _result(outcome: Outcome, cpu: dict[str, float], latency: dict[str, int]) -> dict[str, object]:
    pages = outcome.figures.pages if outcome.figures else 0
    seconds = outcome.elapsed.total_seconds()
    by_process = {name: round(value / max(pages, 1) * 1000, 4) for name, value in cpu.items()}
    return {
        "pages": pages,
        "seconds": round(seconds, 2),
        "pages_per_s": round(pages / seconds, 2),
        "cpu_s_per_1000_pages": by_process | {"total": round(sum(by_process.values()), 4)},
        "fetch_to_row_ms": latency,
        "restarted": outcome.restarted,
    }


def cpu_s(pid: int) -> float:
    """User and system seconds of a process and of the children that it waited for (proc(5), /proc/PID/stat)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


def _latency(heartbeats: Heartbeats) -> dict[str, int]:
    beats = heartbeats.read(timedelta(seconds=5))
    heartbeats.close()
    prefix = "fetch_to_row_"
    return {
        name.removeprefix(prefix).removesuffix("_ms"): value
        for beat in beats
        for name, value in sorted(beat.counts.items())
        if name.startswith(prefix)
    }


@contextmanager
def site(shape: Shape) -> Iterator[int]:
    """The site in a process of its own; gives its port."""
    coding = "gzip" if shape.gzipped else "plain"
    command = [sys.executable, "-m", "benchmarks.site", str(shape.hosts), str(shape.pages_per_host), coding]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as site:
        assert site.stdout is not None
        assert site.stdin is not None
        yield int(site.stdout.readline())
        site.stdin.close()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--pages-per-host", type=int, default=400)
    parser.add_argument("--plain", action="store_true", help="serve without gzip")
    parser.add_argument("--keep", action="store_true", help="keep the data directory")
    return parser.parse_args()


def _show(result: dict[str, object], written: Path) -> None:
    print(f"{result['pages']:,} pages in {result['seconds']} s: {result['pages_per_s']} pages/s")
    costs = result["cpu_s_per_1000_pages"]
    assert isinstance(costs, dict)
    for name, value in costs.items():
        print(f"  {name:10} {value:7.3f} CPU-s per 1,000 pages")
    print(f"  from fetch to row, ms: {result['fetch_to_row_ms']}")
    print(f"written to {written}")


if __name__ == "__main__":
    main()
