"""The newest dead letters, what became of each, and how many there are of each kind: bounded. Pure."""

from collections import Counter, OrderedDict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from schemas.letters import DeadLetter, LetterState, Resolution

KEPT = 1_000
RECENT = 10_000


class Letter(NamedTuple):
    """A letter, and how far somebody is with it; ``None``: nobody."""

    letter: DeadLetter
    state: LetterState | None


class _Known(NamedTuple):
    at: datetime
    topic: str
    reason: str


class Letters:
    """Each letter once, though it may have been written twice."""

    def __init__(self) -> None:
        self._newest: OrderedDict[str, DeadLetter] = OrderedDict()
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._states: dict[str, LetterState] = {}
        self.by_kind: Counter[tuple[str, str, str]] = Counter()
        """By stage, topic and reason, since the monitor began to look."""

    def add(self, letter: DeadLetter) -> None:
        """Take one."""
        if letter.letter_id in self._known:
            return
        self._newest[letter.letter_id] = letter
        self._known[letter.letter_id] = _Known(letter.at, letter.topic, letter.reason)
        self.by_kind[letter.stage, letter.topic, letter.reason] += 1
        if len(self._newest) > KEPT:
            self._newest.popitem(last=False)
        if len(self._known) > RECENT:
            forgotten, _ = self._known.popitem(last=False)
            self._states.pop(forgotten, None)

    def resolve(self, resolution: Resolution) -> None:
        """Note what becomes of one; an end is not undone by a claim that lost."""
        known = self._states.get(resolution.letter_id)
        if resolution.letter_id in self._known and known in (None, LetterState.CLAIMED):
            self._states[resolution.letter_id] = resolution.state

    def newest(self, limit: int, topic: str = "") -> list[Letter]:
        """The last ones, of one topic if it is named; newest first."""
        wanted = [each for each in reversed(self._newest.values()) if topic in ("", each.topic)]
        return [Letter(each, self._states.get(each.letter_id)) for each in wanted[:limit]]

    def knows(self, ids: Iterable[str]) -> bool:
        """Whether all of these were seen."""
        return all(each in self._known for each in ids)

    def topics(self, now: datetime, window: timedelta) -> Counter[tuple[str, str]]:
        """How many open ones came of each topic and reason within the last ``window``."""
        return Counter(
            (known.topic, known.reason)
            for letter_id, known in self._known.items()
            if now - known.at <= window and self._states.get(letter_id) in (None, LetterState.CLAIMED)
        )
