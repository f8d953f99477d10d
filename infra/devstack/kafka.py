"""One Apache Kafka broker (KRaft, broker and controller in one process) for as long as somebody needs it."""

import os
import signal
import socket
import subprocess
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import NamedTuple
from uuid import uuid4

from infra.devstack.jars import class_path
from infra.devstack.jvm import Archive, die_with_parent, java
from infra.devstack.properties import Guard, Member, properties
from infra.errors import UserError

_API_VERSIONS_REQUEST = bytes.fromhex("0000000a0012000000000001ffff")


class Place(NamedTuple):
    """Of a broker among several."""

    cluster_id: str
    me: Member
    members: Sequence[Member]


class EmbeddedKafka:
    """A broker on loopback that keeps its data in ``data_dir`` and can be started again on it, at the same port.

    It dies with the process that started it, even with ``kill -9``, and has a process group of its own, so that Ctrl-C
    in a terminal does not reach it before the stages have drained.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        port: int | None = None,
        guard: Guard | None = None,
        place: Place | None = None,
    ) -> None:
        """``guard`` adds listeners that want to know who a client is; ``place`` makes it one of several brokers."""
        self._dir = data_dir.absolute()
        self._port = place.me.port if place is not None else port
        self._guard = guard
        self._place = place
        self._process: subprocess.Popen[bytes] | None = None
        self._archive: Archive | None = None

    @property
    def bootstrap_servers(self) -> str:
        """Where clients reach it, once it was started."""
        return f"127.0.0.1:{self._port}"

    @property
    def running(self) -> bool:
        """Whether it was started and not stopped."""
        return self._process is not None

    @property
    def pid(self) -> int:
        """Of the Java process. Raises :class:`UserError` when it does not run."""
        if self._process is None:
            raise UserError("the embedded Kafka does not run")
        return self._process.pid

    def __enter__(self) -> "EmbeddedKafka":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, timeout: timedelta = timedelta(seconds=90)) -> None:
        """Start and return when it answers. Raises :class:`UserError` with the end of its log when it does not."""
        self.begin()
        self.wait(timeout)

    def begin(self) -> None:
        """Start, without waiting: several brokers of a cluster answer only together."""
        self._dir.mkdir(parents=True, exist_ok=True)
        jars = class_path()
        self._choose_ports()
        config = str(self._write_config())
        self._archive = Archive(jars)
        if not (self._dir / "data" / "meta.properties").is_file():
            cluster = _cluster_id() if self._place is None else self._place.cluster_id
            users = [] if self._guard is None else self._guard.scram()
            self._run_tool(jars, "kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", config, *users)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                java(jars, ("-Xms256m", "-Xmx512m", *self._archive.flags(write=True)), "kafka.Kafka", config),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509  # one system call, safe between fork and exec
            )

    def wait(self, timeout: timedelta) -> None:
        """Return when it answers. Raises :class:`UserError` with the end of its log when it does not."""
        self._wait(time.monotonic() + timeout.total_seconds())

    def stop(self, timeout: timedelta = timedelta(seconds=30)) -> None:
        """Stop in good order; kill what does not."""
        if self._process is None or self._archive is None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout.total_seconds())
            self._archive.keep()
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """``kill -9``: what a power cut would do, for tests of faults."""
        os.kill(self.pid, signal.SIGKILL)
        if self._process is not None and self._archive is not None:
            self._process.wait()
            self._archive.drop()
        self._process = None

    @property
    def _log(self) -> Path:
        return self._dir / "broker.log"

    def _choose_ports(self) -> None:
        """The port of an earlier start on the same data, while it is free: clients then find the broker again."""
        remembered = self._dir / "ports"
        if self._port is None and remembered.is_file():
            port = int(remembered.read_text())
            self._port = port if _is_free(port) else None
        if self._port is None:
            self._port = free_port()
        if not _is_free(self._port):
            raise UserError(f"port {self._port} of loopback is taken; stop what uses it, or choose another")
        remembered.write_text(str(self._port))

    def _write_config(self) -> Path:
        me = Member(1, self._port or 0, free_port()) if self._place is None else self._place.me
        members = [me] if self._place is None else self._place.members
        path = self._dir / "server.properties"
        settings = properties(me, members, self._dir / "data", self._guard)
        path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        return path

    def _run_tool(self, jars: list[Path], *arguments: str) -> None:
        memory = ("-Xmx128m", *Archive(jars).flags(write=False))
        done = subprocess.run(java(jars, memory, *arguments), capture_output=True, text=True, check=False)
        if done.returncode:
            raise UserError(f"the embedded Kafka cannot prepare {self._dir}: {(done.stdout + done.stderr)[-800:]}")

    def _wait(self, deadline: float) -> None:
        while not _answers(self._port or 0):
            if self._process is None or self._process.poll() is not None:
                raise UserError(f"the embedded Kafka ended at start; the end of its log:\n{self._tail()}")
            if time.monotonic() > deadline:
                self.stop()
                raise UserError(f"the embedded Kafka did not answer in time; the end of its log:\n{self._tail()}")
            time.sleep(0.05)

    def _tail(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-15:])


@contextmanager
def three_brokers(directory: Path, timeout: timedelta = timedelta(seconds=120)) -> Iterator[list[EmbeddedKafka]]:
    """Three brokers of one cluster, for trying what the loss of one does.

    They are killed at the end: the last one could not leave a quorum in good order, and nobody keeps their data.
    """
    members = [Member(number, free_port(), free_port()) for number in (1, 2, 3)]
    cluster = _cluster_id()
    brokers = [EmbeddedKafka(directory / f"broker-{me.number}", place=Place(cluster, me, members)) for me in members]
    try:
        for each in brokers:
            each.begin()
        for each in brokers:
            each.wait(timeout)
        yield brokers
    finally:
        for each in brokers:
            if each.running:
                each.kill()


def _cluster_id() -> str:
    return urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")


def free_port() -> int:
    """A port of loopback that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _answers(port: int) -> bool:
    """Whether a broker answers an ApiVersions request (Kafka protocol, key 18) there."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            connection.sendall(_API_VERSIONS_REQUEST)
            return len(connection.recv(8)) > 0
    except OSError:
        return False
