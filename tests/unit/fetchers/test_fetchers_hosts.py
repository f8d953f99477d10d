"""The turns of hosts."""

import asyncio
import time
from datetime import timedelta
from itertools import pairwise

from fetchers.hosts import HostTurns
from tests.unit.fetchers.raw_web import run


def test_requests_to_one_host_take_turns_at_least_their_delay_apart() -> None:
    """Never two at a time, never closer than the delay; other hosts do not wait."""
    starts: list[tuple[str, float]] = []
    inside = 0

    async def one(turns: HostTurns, host: str) -> None:
        nonlocal inside
        async with turns.turn(host, timedelta(milliseconds=50), 0.0) as turn:
            # When the turn was given: a busy machine may come to this line a while after it.
            starts.append((host, turn.next_s - 0.05))
            inside += host == "a"
            assert inside <= 1
            await asyncio.sleep(0.01)
            inside -= host == "a"

    async def scenario() -> None:
        turns = HostTurns(1)
        await asyncio.gather(*(one(turns, host) for host in "aaab"))

    run(scenario())
    times = [at for host, at in starts if host == "a"]
    assert all(later - earlier > 0.0499 for earlier, later in pairwise(times))
    assert [host for host, _ in starts][1] == "b"


def test_after_a_handover_the_first_request_waits() -> None:
    """No request starts before the moment until which the former owner may have been at work."""

    async def scenario() -> None:
        until_s = time.monotonic() + 0.05
        async with HostTurns(1).turn("a", timedelta(0), until_s):
            assert time.monotonic() >= until_s

    run(scenario())


def test_memory_follows_the_recent_past() -> None:
    """Hosts whose delay has passed are forgotten."""

    async def scenario() -> int:
        turns = HostTurns(1)
        for number in range(25_000):
            async with turns.turn(f"h{number}", timedelta(0), 0.0):
                pass
        return len(turns._hosts)

    assert run(scenario()) <= 10_001
