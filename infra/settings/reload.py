"""Follow the files of settings while a process runs: applied as a whole, or refused with the reason."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from infra.errors import UserError
from infra.settings import Settings
from infra.settings.live import Change, change


class Refused(NamedTuple):
    """The files cannot be used; what was in force stays."""

    error: str


class Reloading:
    """Call :meth:`look` now and then. By content, so links that are swapped and times that lie make no difference."""

    def __init__(
        self, running: Settings, read: Callable[[], Settings], contents: Callable[[], Mapping[Path, bytes]]
    ) -> None:
        self.running = running
        self._read = read
        self._contents = contents
        self._seen = contents()
        self._unsettled: Mapping[Path, bytes] | None = None

    def look(self) -> Change | Refused | None:
        """What follows from the files; ``None`` when they hold what was seen before, or are being written just now.

        A change counts when two looks in a row find the same: who writes a file in pieces is given the time between.
        """
        now = self._contents()
        if now == self._seen:
            self._unsettled = None
            return None
        if now != self._unsettled:
            self._unsettled = now
            return None
        try:
            wanted = self._read()
        except UserError as error:
            self._seen = now
            return Refused(str(error))
        if self._contents() != now:
            return None
        self._seen = now
        found = change(self.running, wanted)
        self.running = found.settings
        return found
