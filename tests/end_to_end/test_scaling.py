"""Workers come and go as the autoscaler makes them. `benchmarks.scaling` does it at length, and measures."""

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from members import members
from site_server import Site
from test_faults import DELAY_S, HOSTS, check, respond

from schemas.records import Crawl

STEP_S = 3.0
STEPS = (2, 3, 4, 3, 2, 1)


@pytest.mark.timeout(400)
def test_workers_that_come_and_go_lose_and_double_nothing(tmp_path: Path) -> None:
    """Fetchers and streams from one to four and back while they work: who goes drains; the same rows, politely."""
    with Site(respond) as site, members(tmp_path) as running:
        for stage in ("frontier", "fetchers", "streams"):
            running.add(stage)
        sink = running.add("sinks")
        seeds = [f"http://{host}:{site.port}/page0" for host in HOSTS]
        crawl = Crawl(name="scaled", anchors=seeds, delay_ms=round(DELAY_S * 1_000), created_at=datetime.now(UTC))
        running.crawl(crawl, seeds)
        for wanted in STEPS:
            time.sleep(STEP_S)
            for stage in ("fetchers", "streams"):
                while len(running.of(stage)) < wanted:
                    running.add(stage)
                while len(running.of(stage)) > wanted:
                    leaving = running.of(stage)[0]
                    leaving.terminate()
                    leaving.drained()
        running.wait_until_finished(crawl.name, 240)
        running.stop()
        check(site, sink.disk)
