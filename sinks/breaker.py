"""When a store that fails is left alone: a circuit breaker, pure, with the monotonic clock passed in.

::

              failures in a row                the wait is over
    closed ──────────────────────────> open ─────────────────────> half-open
      ^  ^                              ^                              │ one write is tried
      │  └── a write succeeds           └────── it fails: twice as long ┤
      └────────────────────────────────────────── it succeeds ─────────┘

A store that hangs costs each topic's write its full time limit; an open breaker costs nothing, and when the store is
back one write finds out instead of all.
"""

from datetime import timedelta
from enum import StrEnum


class State(StrEnum):
    """Where the breaker stands."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Breaker:
    """The breaker of one store, shared by the writes of all its topics."""

    def __init__(self, failures: int, first_wait: timedelta, longest_wait: timedelta) -> None:
        self._limit = failures
        self._first_wait_s = first_wait.total_seconds()
        self._longest_wait_s = longest_wait.total_seconds()
        self._failures = 0
        self._openings = 0
        self._open_until_s = 0.0
        self.state = State.CLOSED

    def wait(self, now_s: float) -> timedelta | None:
        """How long a write has to wait before it may be tried; ``None``: it may go on, and its end must be told.

        Of an open breaker whose wait is over only the first asker may go on; the others wait for what it finds.
        """
        if self.state is State.CLOSED:
            return None
        if self.state is State.OPEN and now_s >= self._open_until_s:
            self.state = State.HALF_OPEN
            return None
        # Whoever is not the one that tries looks again after the shortest wait.
        return timedelta(seconds=max(self._open_until_s - now_s, min(self._first_wait_s, 1.0)))

    def succeeded(self) -> None:
        """A write was stored, or refused for the sake of a row: the store is well."""
        self._failures = self._openings = 0
        self.state = State.CLOSED

    def failed(self, now_s: float) -> timedelta | None:
        """A write failed because the store is in trouble; returns how long it is left alone, if it is from now on."""
        self._failures += 1
        if self.state is State.OPEN or (self.state is State.CLOSED and self._failures < self._limit):
            return None
        wait_s = min(self._longest_wait_s, self._first_wait_s * 2 ** min(self._openings, 20))
        self._open_until_s = now_s + wait_s
        self._openings += 1
        self.state = State.OPEN
        return timedelta(seconds=wait_s)

    def abandoned(self) -> None:
        """A write that was let through was given up before its end: it told nothing about the store."""
        if self.state is State.HALF_OPEN:
            self.state = State.OPEN
