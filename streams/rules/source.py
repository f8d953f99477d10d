"""The rules that are in force: read at the start, and again when their file changes."""

import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from infra.errors import UserError
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.streams import RulesInForce, RulesRefused
from streams.rules.compiled import NO_RULES, Rules
from streams.rules.reading import read

LOOK_EVERY = timedelta(seconds=1)

_Stamp = tuple[tuple[str, int, int, int], ...]


class RulesSource:
    """A TOML file or a folder of them; ``None`` is no rules.

    The rules are replaced as a whole or stay as they are: a file that is wrong, half written or gone changes nothing.
    Raises :class:`UserError` when they are wrong at the start.
    """

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._looked_s = clock()
        self._stamp: _Stamp = ()
        self._rules = NO_RULES
        if path is not None:
            self._stamp = _stamp(path)
            self._rules = load(path)
            emit(RulesInForce(str(path), self._rules.version or "", len(self._rules.given.rules)))

    def current(self) -> Rules:
        """The rules in force; looks at the file once a second at the most."""
        now_s = self._clock()
        if self._path is not None and now_s - self._looked_s >= LOOK_EVERY.total_seconds():
            self._looked_s = now_s
            self._look(self._path)
        return self._rules

    def _look(self, path: Path) -> None:
        try:
            stamp = _stamp(path)
            if stamp == self._stamp:
                return
            # What is wrong is told once, not every second.
            self._stamp = stamp
            rules = load(path)
        except UserError as error:
            emit(RulesRefused(str(path), self._rules.version or "", str(error)))
            return
        self._rules = rules
        emit(RulesInForce(str(path), rules.version or "", len(rules.given.rules)))


def load(path: Path) -> Rules:
    """The rules in ``path``. Raises :class:`UserError`."""
    try:
        return Rules(read({str(file): file.read_text("utf-8") for file in _files(path)}))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the rules in {path} cannot be read: {error}") from None


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.glob("*.toml"))
    return [path]


def _stamp(path: Path) -> _Stamp:
    """Differs when any file is another: of a file that was replaced by renaming, the inode does."""
    try:
        found = [(file, file.stat()) for file in _files(path)]
    except OSError as error:
        raise UserError(f"the rules in {path} cannot be read: {error.strerror}") from None
    return tuple((str(file), stat.st_mtime_ns, stat.st_size, stat.st_ino) for file, stat in found)
