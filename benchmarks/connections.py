"""How many slow connections fetchers hold at once, and what each costs while other hosts are fetched.

    python -m benchmarks.connections [--connections 200000] [--processes 16]

Each process holds its share of connections to hosts that have begun a page and say nothing more; the far ends are held
by as many small servers on 127.0.1.x. ``rss`` is what the processes' resident sets grew by, ``all_memory`` what the
machine has less: the kernel's sockets of both ends and the processes themselves too. CPU is user and system time.
"""

import argparse
import asyncio
import gc
import json
import os
import socket
import sys
import time
from ipaddress import ip_network
from pathlib import Path

import uvloop

from benchmarks import report
from benchmarks.fetch import CONCURRENCY, measure, request
from fetchers.connections import Connections
from fetchers.fetcher import Fetcher
from infra.settings import FetcherSettings, Settings

IDLE_S = 10.0
FAST_PAGES = 4_000
_OPENING = 500
_START = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>"


def serve(address: str) -> None:
    """Begin a page for each connection and say nothing more; end with whoever started it."""
    with socket.socket() as listening:
        listening.bind((address, 0))
        listening.listen(4_096)
        print(listening.getsockname()[1], flush=True)
        held: list[int] = []
        while True:
            connection, _ = listening.accept()
            connection.send(_START)
            held.append(connection.detach())


async def hold(address: str, port: int, fast_port: int, count: int) -> None:
    """Open the connections, then measure as whoever started it says."""
    day = "P1D"
    settings = Settings(
        fetchers=FetcherSettings(
            allow_networks=(ip_network("127.0.0.0/8"),), resolve={"*.bench.test": "127.0.0.1"}, idle_connections=500,
            head_timeout=day, total_timeout=day, rate_grace=day, connect_timeout="PT60S", first_connect_timeout="PT60S",
        )  # type: ignore[arg-type]  # pydantic makes durations of text
    )  # fmt: skip
    connections = Connections(settings.fetchers)
    fetcher = Fetcher(settings, connections)

    async def fast(number: int) -> None:
        attempt = await fetcher.fetch(request(f"http://h{number % CONCURRENCY}.bench.test:{fast_port}/plain"))
        assert len(attempt.body) > 15_000, attempt

    await measure(fast, FAST_PAGES)
    alone = await measure(fast, FAST_PAGES)
    # As the runner of every stage does (infra.run).
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    before_kib, cpu_s, start_s = rss_kib(), time.process_time(), time.monotonic()
    tasks: list[asyncio.Task[object]] = []
    while (held := _busy(connections)) < count:
        if len(tasks) < count and len(tasks) - held < _OPENING:
            url = f"http://{address}:{port}/{len(tasks)}"
            tasks.append(asyncio.create_task(fetcher.fetch(request(url))))
        else:
            await asyncio.sleep(0.01)
    opening_s, opening_cpu_s = time.monotonic() - start_s, time.process_time() - cpu_s
    _say({"held": held, "rss_kib": rss_kib() - before_kib, "cpu_s": opening_cpu_s, "seconds": opening_s})
    await asyncio.to_thread(sys.stdin.readline)
    cpu_s = time.process_time()
    await asyncio.sleep(IDLE_S)
    idle_cpu_s = time.process_time() - cpu_s
    _say({"idle_cpu_s": idle_cpu_s, "held": sum(not task.done() for task in tasks)})
    await asyncio.to_thread(sys.stdin.readline)
    _say({"fast_alone": alone, "fast_beside": await measure(fast, FAST_PAGES)})
    os._exit(0)


def _busy(connections: Connections) -> int:
    counts = connections.counts()
    return counts["connections_persistent"] + counts["connections_temporary"]


def rss_kib() -> int:
    """Resident set of this process (proc(5), /proc/self/statm)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def available_kib() -> int:
    """What the machine has left (proc(5), /proc/meminfo)."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))


def _say(what: dict[str, float]) -> None:
    print(json.dumps(what), flush=True)


async def _spawn(*arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", *arguments, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )


async def _line(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    line = await process.stdout.readline()
    if not line:
        raise RuntimeError("a process ended")
    return line.decode()


async def _hear(holders: list[asyncio.subprocess.Process]) -> list[dict[str, float]]:
    return [json.loads(line) for line in await asyncio.gather(*map(_line, holders))]


def _go_on(holders: list[asyncio.subprocess.Process]) -> None:
    for holder in holders:
        assert holder.stdin is not None
        holder.stdin.write(b"\n")


async def run(count: int, processes: int) -> dict[str, float]:
    """The figures."""
    started: list[asyncio.subprocess.Process] = []
    try:
        site = await _spawn("benchmarks.fetch", "--serve")
        started.append(site)
        fast_port = int(await _line(site))
        share = count // processes
        ends: list[tuple[str, int]] = []
        for number in range(processes):
            address = f"127.0.1.{number + 1}"
            server = await _spawn("benchmarks.connections", "--serve", address)
            started.append(server)
            ends.append((address, int(await _line(server))))
        free_kib = available_kib()
        holders = []
        for address, port in ends:
            holders.append(await _spawn("benchmarks.connections", "--hold", f"{address},{port},{fast_port},{share}"))
            started.append(holders[-1])
        opened = await _hear(holders)
        taken_kib = free_kib - available_kib()
        _go_on(holders)
        idle = await _hear(holders)
        _go_on(holders[:1])
        fast = (await _hear(holders[:1]))[0]
    finally:
        for process in started:
            if process.returncode is None:
                process.kill()
        await asyncio.gather(*(process.wait() for process in started))
    return _figures(opened, idle, fast, taken_kib)


def _figures(
    opened: list[dict[str, float]], idle: list[dict[str, float]], fast: dict[str, float], taken_kib: int
) -> dict[str, float]:
    held = sum(each["held"] for each in idle)
    rss_kib = sum(each["rss_kib"] for each in opened)
    return {
        "held": held,
        "processes": len(opened),
        "rss_kb_per_connection": round(rss_kib * 1.024 / held, 2),
        "all_memory_kb_per_connection_both_ends": round(taken_kib * 1.024 / held, 2),
        "open_us_cpu_per_connection": round(sum(each["cpu_s"] for each in opened) / held * 1e6, 1),
        "open_seconds": round(max(each["seconds"] for each in opened), 1),
        "idle_cpu_s_per_s_of_all_processes": round(sum(each["idle_cpu_s"] for each in idle) / IDLE_S, 4),
        "fetch_cpu_s_per_1000_pages_before": round(fast["fast_alone"], 4),
        "fetch_cpu_s_per_1000_pages_beside": round(fast["fast_beside"], 4),
    }


def main() -> None:
    """Run the benchmark."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--connections", type=int, default=200_000)
    options.add_argument("--processes", type=int, default=16)
    options.add_argument("--serve", help=argparse.SUPPRESS)
    options.add_argument("--hold", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.serve:
        serve(chosen.serve)
    elif chosen.hold:
        address, port, fast_port, count = chosen.hold.split(",")
        uvloop.run(hold(address, int(port), int(fast_port), int(count)))
    else:
        result = uvloop.run(run(chosen.connections, chosen.processes))
        report.tell("connections", result)


if __name__ == "__main__":
    main()
