"""Members of every stage are killed, stopped and added at random: the same pages, no row twice, never impolite."""

import json
import os
import random
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from members import Members, members
from product import ODRADEK, sql
from rough_web import DELAY_S, MAX_DEPTH, RoughWeb, delay_s, months
from site_server import Site

from schemas.records import Crawl
from schemas.scope import ScopeKind

SECONDS = float(os.environ.get("ODRADEK_CHAOS_SECONDS", "40"))
"""How long members come and go; the web has as many pages as that takes."""
WANTED = {"frontier": 2, "fetchers": 4, "streams": 1, "sinks": 1}
MOST = {"frontier": 3, "fetchers": 5, "streams": 2, "sinks": 1}


class Chaos:
    """What happens to the members, by chance; ``told`` says what did."""

    def __init__(self, running: Members, seed: int) -> None:
        self._running = running
        self._dice = random.Random(seed)
        self.told: list[str] = [f"seed {seed}"]

    def strike(self) -> None:
        """One thing."""
        dice = self._dice
        stage = dice.choices(list(WANTED), weights=[4, 4, 1, 1])[0]
        alive = self._running.of(stage)
        what = dice.choice(["kill", "kill", "stop", "add"])
        if what == "add" and len(alive) < MOST[stage]:
            self._running.add(stage)
        elif what != "add" and alive:
            victim = dice.choice(alive)
            if what == "kill":
                victim.kill()
            else:
                victim.terminate()
                victim.drained()
            if len(alive) <= WANTED[stage]:
                # The sinks own their database: it is their disk. A frontier may come back without any.
                keeps = stage == "sinks" or dice.random() < 0.5
                time.sleep(dice.uniform(0, 2))
                self._running.add(stage, victim.disk if keeps else None)
        else:
            return
        self.told.append(f"{what} {stage}")

    def go_on(self, until: Callable[[], bool], seconds: float) -> None:
        """Strike every few seconds until all is over."""
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s and not until():
            self.strike()
            time.sleep(self._dice.uniform(1, 5))
        for stage, count in WANTED.items():
            for _ in range(count - len(self._running.of(stage))):
                self._running.add(stage)


def audit(running: Members) -> dict[str, Any]:
    """What the auditor finds."""
    command = [*ODRADEK, "audit", "politeness", "--json"]
    environment = {**os.environ, "KAFKA_BOOTSTRAP_SERVERS": running.settings.kafka_bootstrap_servers or ""}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.timeout(240 + 6 * SECONDS)
def test_members_come_and_go(tmp_path: Path) -> None:
    """Two frontiers and four fetchers on a web of 200 rough hosts: the auditor finds nothing, every page is a row."""
    web = RoughWeb(pages=round(SECONDS / 2))
    with Site(web.respond) as site, members(tmp_path) as running:
        web.port = site.port
        for stage, count in WANTED.items():
            for _ in range(count):
                running.add(stage)
        (sinks,) = running.of("sinks")
        crawl = Crawl(
            name="chaos", scope=ScopeKind.ANY, max_depth=MAX_DEPTH, delay_ms=round(DELAY_S * 1000),
            follow_robots=True, created_at=datetime.now(UTC),
        )  # fmt: skip
        running.crawl(crawl, web.seeds())
        chaos = Chaos(running, seed=random.randrange(1_000_000))
        chaos.go_on(lambda: len(site.log) > 200 * web.pages, SECONDS)
        running.wait_until_finished("chaos", 120 + 4 * SECONDS)
        found = audit(running)
        running.stop()
        rows = [row["url"] for row in sql(sinks.disk, "SELECT url FROM documents")]
        (fetches,) = sql(sinks.disk, "SELECT count() AS rows, uniqExact(fetch_id) AS ids FROM fetches")
    calendars, pages = months(set(rows))
    assert pages == web.expected(), chaos.told
    assert len(rows) == len(set(rows)), chaos.told
    assert fetches["rows"] == fetches["ids"], chaos.told
    assert all(1 <= count <= MAX_DEPTH for count in calendars.values()), calendars
    assert found["violations"] == [], chaos.told
    assert not [path for _, path in web.asked if path.startswith("/private")]
    too_fast = {host: gap for host, gap in site.gaps_s().items() if gap < delay_s(host)}
    assert too_fast == {}, chaos.told
