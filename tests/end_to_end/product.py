"""The product as a user runs it: the ``odradek`` command in processes of its own."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ODRADEK = [sys.executable, "-m", "infra.cli"]
STAGES = ("frontier", "fetchers", "streams", "sinks", "monitor")


class Crawl:
    """A running ``odradek crawl``."""

    def __init__(self, data_dir: Path, process: "subprocess.Popen[str]") -> None:
        self.data_dir = data_dir
        self._process = process

    def wait(self, timeout_s: float) -> dict[str, Any]:
        """The summary, once it has ended by itself with exit code 0."""
        out, err = self._process.communicate(timeout=timeout_s)
        assert self._process.returncode == 0, err[-3_000:]
        summary: dict[str, Any] = json.loads(out)
        return summary

    def interrupt(self, timeout_s: float = 60) -> tuple[int, dict[str, Any]]:
        """Ctrl-C: the exit code and the summary."""
        self._process.send_signal(signal.SIGINT)
        out, _ = self._process.communicate(timeout=timeout_s)
        return self._process.returncode, json.loads(out)

    def stage_pid(self, stage: str) -> int | None:
        """The process of a stage, while it runs."""
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with suppress(OSError, IndexError):
                if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) != self._process.pid:
                    continue
                if (entry / "cmdline").read_text().split("\0")[-2] == stage:
                    return int(entry.name)
        return None

    def kill(self, *stages: str, wipe: Path | None = None) -> None:
        """``kill -9`` the stages at once, delete ``wipe`` while they are dead; the command starts them again."""
        os.kill(self._process.pid, signal.SIGSTOP)
        try:
            for stage in stages:
                pid = self.stage_pid(stage)
                assert pid is not None, f"{stage} does not run"
                os.kill(pid, signal.SIGKILL)
            # The signal is delivered before the process has let go of its files.
            time.sleep(0.2)
            if wipe is not None:
                shutil.rmtree(wipe)
        finally:
            os.kill(self._process.pid, signal.SIGCONT)

    def wait_until(self, reached: Callable[[], bool], timeout_s: float = 120) -> None:
        """Return when ``reached`` holds; fails when the crawl ends or it takes too long."""
        deadline = time.monotonic() + timeout_s
        while not reached():
            assert self._process.poll() is None, "the crawl ended too early"
            assert time.monotonic() < deadline, "it did not come so far in time"
            time.sleep(0.05)


@contextmanager
def crawl(data_dir: Path, *arguments: str, environment: dict[str, str] | None = None) -> Iterator[Crawl]:
    """Start ``odradek crawl ARGUMENTS`` in ``data_dir``; whatever happens, nothing of it is left running."""
    command = [*ODRADEK, "crawl", "--json", "--data-dir", str(data_dir), *arguments]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    try:
        yield Crawl(data_dir, process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def sql(data_dir: Path, query: str) -> list[dict[str, Any]]:
    """The rows that ``odradek sql`` prints."""
    command = [*ODRADEK, "sql", "--data-dir", str(data_dir), "--format", "JSONEachRow", query]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def audit(data_dir: Path) -> dict[str, Any]:
    """What ``odradek audit politeness`` finds in the records that a crawl left."""
    command = [*ODRADEK, "audit", "politeness", "--json", "--data-dir", str(data_dir)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def explain(data_dir: Path, url: str) -> dict[str, list[str]]:
    """What ``odradek explain`` tells of a URL, by who tells it."""
    command = [*ODRADEK, "explain", "--json", "--data-dir", str(data_dir), url]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    told: dict[str, list[str]] = {}
    for fact in json.loads(done.stdout)["facts"]:
        told.setdefault(fact["source"], []).append(fact["text"])
    return told
