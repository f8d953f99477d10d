"""Fetch from the hostile web for minutes and print what became of it: memory, files, outcomes.

python -m tests.site.soak [--minutes 3]
"""

import argparse
import asyncio
import os
import random
import sys
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

import uvloop

from fetchers.fetcher import Fetcher
from tests.site.hostile import KINDS, hostile_web, path
from tests.unit.fetchers.raw_web import fetching, request, settings

IMPATIENT = {
    "rate_grace": timedelta(seconds=0.2),
    "min_rate_bytes_s": 20_000,
    "head_timeout": timedelta(seconds=1),
    "total_timeout": timedelta(seconds=2),
    "max_body_kib": 1_024,
}
HOSTS = 40
AT_A_TIME = 60


async def wrong_ends(fetcher: Fetcher, port: int, kinds: list[str]) -> list[str]:
    """Fetch a page of each kind; those that did not end as they must."""
    waiting = iter(enumerate(kinds))
    wrong: list[str] = []

    async def worker() -> None:
        for number, name in waiting:
            kind = KINDS[name]
            wanted = request(f"http://h{number % HOSTS}.raw.test:{port}{path(name)}?{number}")
            attempt = await fetcher.fetch(wanted)
            page, fetch = attempt.records(wanted, "soak")
            if (fetch.outcome, fetch.cut) != (kind.outcome, kind.cut) or (page is None) is (kind.outcome == "ok"):
                wrong.append(f"{name}: {fetch.outcome}, {fetch.cut}, {fetch.error}")

    await asyncio.gather(*(worker() for _ in range(AT_A_TIME)))
    return wrong


def rss_mib() -> float:
    """Resident set of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def open_files() -> int:
    """Of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def soak(length: timedelta) -> None:
    """Print a line for each round."""
    dice = random.Random(3)
    until_s = time.monotonic() + length.total_seconds()
    done: Counter[str] = Counter()
    async with hostile_web() as port, fetching(settings(**IMPATIENT)) as fetcher:
        while time.monotonic() < until_s:
            kinds = dice.choices(sorted(KINDS), k=2_000)
            wrong = await wrong_ends(fetcher, port, kinds)
            done["pages"] += len(kinds)
            done["wrong"] += len(wrong)
            so_far = f"{done['pages']} pages, {done['wrong']} wrong"
            sys.stdout.write(f"{so_far}, {rss_mib():.0f} MiB, {open_files()} files {wrong[:3] or ''}\n")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=3)
    uvloop.run(soak(timedelta(minutes=options.parse_args().minutes)))
