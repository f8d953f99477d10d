"""Everything on one machine: the embedded Kafka, one process for each stage, and what a second terminal needs to find.

A data directory belongs to one running stack at a time. While it runs, ``kafka.endpoint`` in it names the broker, so
that ``odradek status`` and ``odradek seed`` in another terminal reach it.
"""

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from infra.devstack.kafka import EmbeddedKafka
from infra.errors import UserError
from infra.kafka.admin import Topics
from infra.settings import Settings

ENDPOINT = "kafka.endpoint"
STOP_WITHIN = timedelta(seconds=35)
MAX_RESTARTS = 5


def attach(settings: Settings) -> Settings:
    """The settings with the broker of the stack that runs in the data directory, unless one is named already."""
    endpoint = settings.data_dir / ENDPOINT
    if settings.kafka_bootstrap_servers or not endpoint.is_file():
        return settings
    return settings.model_copy(update={"kafka_bootstrap_servers": endpoint.read_text().strip()})


@contextmanager
def data_directory(path: Path) -> Iterator[Path]:
    """The directory, made and locked. Raises :class:`UserError` when another stack runs in it."""
    path.mkdir(parents=True, exist_ok=True)
    with (path / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"another crawl runs in {path}; give this one its own with --data-dir") from None
        yield path


@contextmanager
def kafka(settings: Settings) -> Iterator[tuple[Settings, EmbeddedKafka | None]]:
    """The settings with a broker that answers: the one they name, else the embedded one, while it is needed."""
    if settings.kafka_bootstrap_servers:
        yield settings, None
        return
    endpoint = settings.data_dir / ENDPOINT
    with EmbeddedKafka(settings.data_dir / "kafka") as broker:
        endpoint.write_text(broker.bootstrap_servers)
        try:
            yield settings.model_copy(update={"kafka_bootstrap_servers": broker.bootstrap_servers}), broker
        finally:
            endpoint.unlink(missing_ok=True)


@contextmanager
def readable(settings: Settings) -> Iterator[Settings]:
    """The settings with a broker to read from: that of :func:`attach`, else the embedded one over what a crawl left.

    Raises :class:`UserError` when there is neither.
    """
    attached = attach(settings)
    if attached.kafka_bootstrap_servers:
        yield attached
        return
    if not (settings.data_dir / "kafka").is_dir():
        raise UserError(
            f"no crawl has run here yet: there is no {settings.data_dir / 'kafka'}; name another directory with "
            "--data-dir, or a cluster with KAFKA_BOOTSTRAP_SERVERS"
        )
    with data_directory(settings.data_dir), kafka(settings) as (started, _broker):
        Topics(started).wait_for_leaders()
        yield started


@contextmanager
def demo_site() -> Iterator[int]:
    """The demo site in a process of its own; gives its port."""
    command = [sys.executable, "-m", "infra.devstack.demo"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as site:
        if site.stdout is None or site.stdin is None:
            raise AssertionError
        try:
            yield int(site.stdout.readline())
        finally:
            site.stdin.close()
            site.wait(10)


@dataclass
class StageProcesses:
    """One process for each stage, started again when it ends by itself."""

    settings: Settings
    environment: Mapping[str, str] = field(default_factory=dict)
    """Settings that these stages get beside ours, as environment variables."""
    broker_pid: int | None = None
    """The embedded broker's process, when it is ours."""
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _restarts: dict[str, int] = field(default_factory=dict)

    def start(self, stages: Sequence[str]) -> None:
        """Start one process for each."""
        for stage in stages:
            self._running[stage] = self._spawn(stage)

    def another(self, stage: str) -> "subprocess.Popen[bytes]":
        """One more process of a stage, which is the caller's to stop."""
        return self._spawn(stage)

    def _spawn(self, stage: str) -> subprocess.Popen[bytes]:
        logs = self.settings.data_dir / "logs"
        logs.mkdir(exist_ok=True)
        environment = {
            **os.environ,
            "KAFKA_BOOTSTRAP_SERVERS": self.settings.kafka_bootstrap_servers or "",
            "ODRADEK_DATA_DIR": str(self.settings.data_dir.absolute()),
            "ODRADEK_LOG_FORMAT": "json",
            **self.environment,
        }
        with (logs / f"{stage}.log").open("ab") as log:
            command = [sys.executable, "-m", "infra.cli", "run", stage]
            # A session of its own: Ctrl-C reaches us alone, and we stop the stages in their order.
            return subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)

    def pids(self) -> dict[str, int]:
        """The process of each stage."""
        return {stage: process.pid for stage, process in self._running.items()}

    def check(self) -> list[str]:
        """Start again what ended by itself; returns which. Raises :class:`UserError` when a stage will not live."""
        ended = [stage for stage, process in self._running.items() if process.poll() is not None]
        for stage in ended:
            code = self._running[stage].returncode
            self._restarts[stage] = self._restarts.get(stage, 0) + 1
            if code == 2 or self._restarts[stage] > MAX_RESTARTS:
                log = self.settings.data_dir / "logs" / f"{stage}.log"
                raise UserError(f"stage {stage} ended with exit code {code}; the end of {log}:\n{_tail(log)}")
            self._running[stage] = self._spawn(stage)
        return ended

    def stop(self) -> list[str]:
        """Stop the stages, those that make work first; returns the stages that did not end cleanly."""
        unclean: list[str] = []
        for process in self._running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_WITHIN.total_seconds()
        for stage, process in self._running.items():
            try:
                code = process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
            # The signal itself ends a process that has not begun its work yet: nothing to drain.
            if code not in (0, -signal.SIGTERM):
                unclean.append(stage)
        self._running.clear()
        return unclean


def _tail(path: Path, lines: int = 5) -> str:
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])


@contextmanager
def local_stack(settings: Settings, environment: Mapping[str, str]) -> Iterator[StageProcesses]:
    """A locked data directory, a broker and room for the stages; everything is stopped at the end, stages first."""
    with ExitStack() as stack:
        stack.enter_context(data_directory(settings.data_dir))
        settings, broker = stack.enter_context(kafka(settings))
        stages = StageProcesses(settings, environment, broker.pid if broker else None)
        stack.callback(stages.stop)
        yield stages
