"""A store's server that a test starts, kills, freezes and starts again, on a free port of the loopback."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path

import pytest

START_WITHIN_S = 60.0


def free_port() -> int:
    """A port of the loopback that nobody had a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def program(name: str, package: str, *places: Path) -> Path:
    """Where the program is; skips the test where it is missing."""
    found = shutil.which(name)
    for path in (*([Path(found)] if found else []), *places):
        if path.is_file():
            return path
    pytest.skip(f"{name} is not here; on Debian: apt-get install {package}")


class Server(ABC):
    """One server with a directory of its own. Its port stays the same over restarts."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="odradek-store-"))
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """What is run; it stays in the foreground."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether it takes requests."""

    def start(self) -> None:
        """Start it and wait until it answers."""
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, cwd=self.directory)
        deadline = time.monotonic() + START_WITHIN_S
        while not self.answers():
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.05)

    def log(self) -> str:
        """The end of what it said."""
        return (self.directory / "log").read_text(errors="replace")[-4_000:]

    def pids(self) -> list[int]:
        """Its process and the children of it."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *map(int, children)]

    def _signal(self, number: signal.Signals) -> None:
        for pid in self.pids():
            os.kill(pid, number)

    def kill(self) -> None:
        """End it as a power cut would."""
        self._signal(signal.SIGKILL)
        assert self.process is not None
        self.process.wait(10)

    def freeze(self) -> None:
        """It takes connections, and answers nothing."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on."""
        self._signal(signal.SIGCONT)

    def remove(self) -> None:
        """End it and forget what it held."""
        if self.process is not None and self.process.poll() is None:
            self.thaw()
            self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)
