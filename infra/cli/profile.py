"""``odradek profile``: what a live process spends its time on."""

import re
import socket
import subprocess
import sys
import webbrowser
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from infra.devstack.local import attach
from infra.errors import Failure, UserError
from infra.kafka.heartbeats import Heartbeats
from infra.settings import Settings, load

_PID = re.compile(r"-(\d+)$")
_MORE_S = 60
"""What py-spy may need beside the time it looks."""


class ProfileFailed(Failure):
    """The process could not be looked into."""


def profile(  # one for each option
    stage: Annotated[
        str, typer.Argument(help="frontier, fetchers, streams, sinks, monitor, or a worker's whole name.")
    ],
    *,
    seconds: Annotated[int, typer.Option(min=1, max=3_600, help="How long to look.")] = 30,
    rate: Annotated[int, typer.Option(min=1, max=1_000, help="Looks a second.")] = 100,
    idle: Annotated[bool, typer.Option("--idle", help="Threads that wait count too.")] = False,
    output: Annotated[Path | None, typer.Option(help="Where the flame graph goes. [default: STAGE-TIME.svg]")] = None,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open it in a browser.")] = True,
) -> None:
    """Write a flame graph of a live stage of this machine, without stopping it.

    The process is looked at from outside (py-spy): it needs no preparation, and goes on meanwhile. Exit codes: 0
    written, 1 the system forbids to look, 2 no such process here.
    """
    pid = pid_of(attach(load()), stage)
    target = output or Path(f"{stage}-{datetime.now(UTC):%Y%m%d-%H%M%S}.svg")
    record(pid, target, seconds, rate, idle=idle)
    print(f"flame graph of {stage} (pid {pid}) over {seconds} s: {target}")
    if show and sys.stdout.isatty():
        webbrowser.open(target.absolute().as_uri())


def pid_of(settings: Settings, stage: str) -> int:
    """The process of a stage's worker on this machine; of several the first. Raises :class:`UserError`."""
    heartbeats = Heartbeats(settings)
    try:
        alive = heartbeats.read()
    finally:
        heartbeats.close()
    here = f"-{socket.gethostname()}-"
    for beat in alive:
        found = _PID.search(beat.worker)
        if stage in (beat.stage, beat.worker) and here in beat.worker and found and Path(f"/proc/{found[1]}").exists():
            return int(found[1])
    living = ", ".join(beat.worker for beat in alive) or "none"
    raise UserError(f"no process of {stage} lives on this machine ({socket.gethostname()}); living workers: {living}")


def record(pid: int, target: Path, seconds: int, rate: int, *, idle: bool) -> None:
    """Let py-spy look. Raises :class:`ProfileFailed` with what it says."""
    program = Path(sys.executable).with_name("py-spy")
    command = [
        *(str(program), "record", "--pid", str(pid), "--output", str(target), "--format", "flamegraph"),
        *("--duration", str(seconds), "--rate", str(rate), "--threads", "--nonblocking"),
        *(["--idle"] if idle else []),
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds + _MORE_S)  # noqa: S603  # ours
    except FileNotFoundError:
        raise UserError(f"there is no {program}: run `make install`") from None
    except subprocess.TimeoutExpired:
        raise ProfileFailed(f"py-spy did not end within {seconds + _MORE_S} s") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines() or ["it says nothing"]
        hint = ""
        if "ermission" in said[0]:
            hint = "; run it as root, with the SYS_PTRACE capability in a container, or set kernel.yama.ptrace_scope=0"
        raise ProfileFailed(f"process {pid} cannot be looked into: {said[0]}{hint}")
