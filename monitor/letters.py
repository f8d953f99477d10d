"""The newest dead letters, and how many there are of each kind: bounded. Pure."""

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from schemas.letters import DeadLetter

KEPT = 1_000
RECENT = 10_000


class Letter(NamedTuple):
    """A letter and where it stands in ``dead-letters``."""

    letter: DeadLetter
    partition: int
    offset: int


class Letters:
    """Each letter once, though it may have been written twice."""

    def __init__(self) -> None:
        self._newest: OrderedDict[str, Letter] = OrderedDict()
        self._recent: deque[tuple[datetime, str, str]] = deque(maxlen=RECENT)
        self.by_kind: Counter[tuple[str, str, str]] = Counter()
        """By stage, topic and reason, since the monitor began to look."""

    def add(self, letter: DeadLetter, partition: int, offset: int) -> None:
        """Take one."""
        if letter.letter_id in self._newest:
            return
        self._newest[letter.letter_id] = Letter(letter, partition, offset)
        self._recent.append((letter.at, letter.topic, letter.reason))
        self.by_kind[letter.stage, letter.topic, letter.reason] += 1
        if len(self._newest) > KEPT:
            self._newest.popitem(last=False)

    def newest(self, limit: int) -> list[Letter]:
        """The last ones, newest first."""
        return list(reversed(self._newest.values()))[:limit]

    def found(self, ids: Iterable[str]) -> list[Letter]:
        """Those of ``ids`` that are still known."""
        return [self._newest[each] for each in ids if each in self._newest]

    def topics(self, now: datetime, window: timedelta) -> Counter[tuple[str, str]]:
        """How many came of each topic and reason within the last ``window``."""
        return Counter((topic, reason) for at, topic, reason in self._recent if now - at <= window)
