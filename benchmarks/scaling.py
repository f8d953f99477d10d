"""What it costs that workers come and go, as the autoscaler makes them: fetchers and streams from 1 to 6 and back.

    python -m benchmarks.scaling [--step 20] [--most 6] [--hosts 60] [--pages-per-host 300] [--delay 0.5]

One more or one fewer of both stages at each step, SIGTERM for those that go. Prints pages/s meanwhile against the calm
before and after, the slowest ten seconds, what was lost or doubled, and what the auditor of politeness finds; writes
``build/bench/scaling.json`` with the lag of each second, which the simulation of the autoscaler is fed with.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from benchmarks import report
from benchmarks.main import site
from benchmarks.site import Shape
from infra.cli.crawl import Reach, define
from infra.cli.seed import send_seeds
from infra.cli.watch import watch
from infra.devstack.local import StageProcesses, local_stack
from infra.kafka.admin import Topics
from infra.kafka.lag import LagReader
from infra.kafka.topics import TopicName
from infra.settings import KafkaSettings, Settings, load
from schemas.records import Crawl

SCALED = ("fetchers", "streams")
CALM_S = 30.0
WINDOW_S = 10.0


class Sample(NamedTuple):
    """One look."""

    at_s: float
    workers: int
    due: int
    """Records of ``urls`` so far."""
    due_lag: int
    pages: int
    page_lag: int


@dataclass
class Scaler:
    """Starts and stops workers by the clock, and looks at the topics; called again and again."""

    stages: StageProcesses
    step_s: float
    most: int
    samples: list[Sample] = field(default_factory=list)
    unclean: list[int] = field(default_factory=list)
    _stopping: list["subprocess.Popen[bytes]"] = field(default_factory=list)
    _extra: dict[str, list["subprocess.Popen[bytes]"]] = field(default_factory=lambda: {stage: [] for stage in SCALED})

    def __post_init__(self) -> None:
        self._began_s = time.monotonic()
        self._lag = LagReader(self.stages.settings)

    def wanted(self, at_s: float) -> int:
        """One while it is calm, then up to :attr:`most` and down again, a step at a time."""
        number = int((at_s - CALM_S) // self.step_s) + 1
        return max(1, min(1 + number, 2 * self.most - 1 - number)) if number >= 1 else 1

    @property
    def over_s(self) -> float:
        """When the last step has ended."""
        return CALM_S + self.step_s * (2 * self.most - 2)

    def __call__(self) -> list[str]:
        """Do what is due; returns the stages that ended by themselves."""
        at_s = time.monotonic() - self._began_s
        for stage, running in self._extra.items():
            while 1 + len(running) < self.wanted(at_s):
                running.append(self.stages.another(stage))
            while 1 + len(running) > self.wanted(at_s):
                # The oldest: it holds partitions for longest.
                self._stop(running.pop(0))
        self._look(at_s)
        return self.stages.check()

    def _stop(self, process: "subprocess.Popen[bytes]") -> None:
        process.send_signal(signal.SIGTERM)
        self._stopping.append(process)

    def _look(self, at_s: float) -> None:
        seen = self._lag.read()
        ends = {topic: sum(end for place, end in seen.ends.items() if place[0] == topic) for topic in TopicName}
        self.samples.append(
            Sample(
                round(at_s, 2),
                self.wanted(at_s),
                ends[TopicName.URLS],
                seen.lag("odradek-fetchers")[TopicName.URLS],
                ends[TopicName.PAGES],
                seen.lag("odradek-streams")[TopicName.PAGES],
            )
        )

    def close(self) -> None:
        """Stop what was added; what did not end cleanly is in :attr:`unclean`."""
        for running in self._extra.values():
            while running:
                self._stop(running.pop())
        for process in self._stopping:
            try:
                code = process.wait(40)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
            if code != 0:
                self.unclean.append(code)


def rates(samples: list[Sample], from_s: float, to_s: float) -> Iterator[float]:
    """Pages a second in each window of :data:`WINDOW_S`."""
    inside = [each for each in samples if from_s <= each.at_s <= to_s]
    start = inside[0] if inside else None
    for each in inside:
        if start is not None and each.at_s - start.at_s >= WINDOW_S:
            yield (each.pages - start.pages) / (each.at_s - start.at_s)
            start = each


def run(options: argparse.Namespace, shape: Shape, port: int, directory: Path) -> dict[str, object]:
    """Crawl the site once while workers come and go; the figures."""
    settings = load(data_dir=directory, kafka=KafkaSettings(partitions=12))
    crawl = Crawl(
        name="bench", anchors=shape.seeds(port), delay_ms=round(options.delay * 1000), created_at=datetime.now(UTC)
    )
    reach = Reach({"*.bench.test": "127.0.0.1"}, ["127.0.0.0/8"])
    with ExitStack() as stack:
        stages = stack.enter_context(local_stack(settings, reach.environment(settings)))
        Topics(stages.settings).create()
        define(stages.settings, crawl)
        stages.start(["frontier", "sinks", *SCALED])
        send_seeds(stages.settings, shape.seeds(port), crawl.name)
        scaler = Scaler(stages, options.step, options.most)
        stack.callback(scaler.close)
        outcome = watch(stages.settings, crawl.name, time.monotonic(), scaler)
        scaler.close()
        found = json.loads(_odradek(stages.settings, "audit", "politeness", "--json"))
        query = "SELECT count() AS rows, uniqExact(url) AS urls FROM documents"
        stored = json.loads(_odradek(stages.settings, "sql", "--format", "JSONEachRow", query))
    return _result(scaler, shape.hosts * shape.pages_per_host) | {
        "rows": int(stored["rows"]),
        "different_urls": int(stored["urls"]),
        "impolite": len(found["violations"]),
        "restarted": outcome.restarted,
    }


def _odradek(settings: Settings, *arguments: str) -> str:
    """What a command prints about the crawl that has just ended."""
    environment = os.environ | {"KAFKA_BOOTSTRAP_SERVERS": settings.kafka_bootstrap_servers or ""}
    command = [sys.executable, "-m", "infra.cli", *arguments, "--data-dir", str(settings.data_dir)]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False, timeout=300).stdout


def _result(scaler: Scaler, pages: int) -> dict[str, object]:
    last_s = scaler.samples[-1].at_s
    calm = [*rates(scaler.samples, WINDOW_S, CALM_S), *rates(scaler.samples, scaler.over_s, last_s - WINDOW_S)]
    busy = list(rates(scaler.samples, CALM_S, min(scaler.over_s, last_s)))
    usual = sorted(calm)[len(calm) // 2]
    return {
        "pages_expected": pages,
        "ended_uncleanly": scaler.unclean,
        "calm_pages_per_s": round(usual, 1),
        "pages_per_s_while_scaling": round(sum(busy) / len(busy), 1),
        "slowest_ten_seconds_of_calm": round(min(busy) / usual, 3),
        "samples": [each._asdict() for each in scaler.samples],
    }


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", type=float, default=20.0)
    parser.add_argument("--most", type=int, default=6)
    parser.add_argument("--hosts", type=int, default=60)
    parser.add_argument("--pages-per-host", type=int, default=300)
    parser.add_argument("--delay", type=float, default=0.5)
    options = parser.parse_args()
    shape = Shape(options.hosts, options.pages_per_host, gzipped=True)
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as name, site(shape) as port:
        result = run(options, shape, port, Path(name))
    written = report.write("scaling", result)
    for key, value in result.items():
        if key != "samples":
            print(f"{key:28} {value}")
    print(f"written to {written}")
    whole = result["rows"] == result["different_urls"] == result["pages_expected"]
    sys.exit(0 if whole and not result["impolite"] and not result["ended_uncleanly"] else 1)


if __name__ == "__main__":
    main()
