"""The embedded engine: who owns its directory, and reading from it.

chDB is one engine in one process on one path; a second process is refused with an error that names no reason. So the
owner holds a lock of our own beside the directory, which dies with its process, also by ``kill -9``, and names it.

Within the owner any number of handles share the engine, each with settings of its own, and calls on different handles
overlap: a long query does not hold up an insert. A handle costs half a millisecond, so each query gets a fresh one
and no setting of one query is left for the next.
"""

import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any

from infra.errors import UserError
from sinks.clickhouse.statements import literal, setting_name

_LOOK_AGAIN_S = 0.1


class DirectoryLock:
    """The right to open the engine in ``directory``."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file: IO[str] | None = None

    def acquire(self, patience: timedelta) -> None:
        """Take the lock, waiting as long as ``patience``. Raises :class:`UserError` naming the holder."""
        self._directory.parent.mkdir(parents=True, exist_ok=True)
        file = self._directory.with_name(f"{self._directory.name}.lock").open("a+")
        deadline = time.monotonic() + patience.total_seconds()
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    file.seek(0)
                    holder = file.read().strip() or "unknown"
                    file.close()
                    raise UserError(
                        f"another process (pid {holder}) holds the embedded ClickHouse in {self._directory}: "
                        "only one may; stop it, use its HTTP door, or set CLICKHOUSE_URL to a server"
                    ) from None
                time.sleep(_LOOK_AGAIN_S)
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        self._file = file

    def release(self) -> None:
        """Give it back."""
        if self._file is not None:
            self._file.close()
            self._file = None


@dataclass(frozen=True)
class Query:
    """One query for reading. ``settings`` hold for it alone; ``parameters`` are the values of ``{name:Type}``."""

    sql: str
    output: str = "TabSeparated"
    database: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    writable: bool = False
    data: bytes | None = None
    """Of an ``INSERT ... FORMAT NAME`` whose rows do not stand in the statement."""


def engine() -> Any:
    """The engine's module. Raises :class:`UserError` where it is left out, as in images that write to a server."""
    try:
        # Two packages bring this module, one with types and one without; which is there last is the installer's choice.
        return import_module("chdb")
    except ModuleNotFoundError:
        raise UserError("the embedded ClickHouse is not installed here: set CLICKHOUSE_URL to a server") from None


def run(directory: Path, query: Query) -> bytes:
    """The answer, in the format of its ``FORMAT`` clause or else ``query.output``.

    The engine in ``directory`` is open in this process, or this opens it. Repeats are folded (``final = 1``) unless a
    setting says otherwise. Blocks; raises :class:`RuntimeError` with ClickHouse's own message.
    """
    connection = engine().connect(str(directory.resolve()))
    try:
        if query.database:
            name = query.database.replace("\\", "\\\\").replace("`", "\\`")
            connection.query(f"USE `{name}`", "TabSeparated")
        for name, value in ({"final": "1"} | dict(query.settings)).items():
            connection.query(f"SET {setting_name(name)} = {literal(value)}", "TabSeparated")
        if not query.writable:
            connection.query("SET readonly = 1", "TabSeparated")
        with _statement(query) as sql:
            return bytes(connection.query(sql, query.output, params=dict(query.parameters)).bytes() or b"")
    finally:
        connection.close()


@contextmanager
def _statement(query: Query) -> Iterator[str]:
    """The statement to run: the engine takes binary rows from a file alone."""
    if query.data is None:
        yield query.sql
        return
    head, _, shape = query.sql.rpartition(" FORMAT ")
    with NamedTemporaryFile(suffix=".rows") as file:
        file.write(query.data)
        file.flush()
        yield f"{head} FROM INFILE '{file.name}' FORMAT {shape}"


def cancel_queries(directory: Path) -> None:
    """Ask every running query of the engine to end; does not wait."""
    connection = engine().connect(str(directory.resolve()))
    try:
        connection.query("KILL QUERY WHERE 1 ASYNC", "TabSeparated")
    finally:
        connection.close()
