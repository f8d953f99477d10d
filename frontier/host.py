"""What the frontier knows of one host while it has work for it."""

import json
from dataclasses import dataclass, field
from typing import Literal

from frontier.queues import Queues

Circuit = Literal["closed", "open", "half_open"]
"""Whether requests go to a host: as usual, not for a while, or one alone to see whether it has come back."""


@dataclass(slots=True)
class Host:
    """One host's schedule. Times are by :class:`frontier.clock.Clock`."""

    name: str
    next_s: float
    """Nothing may be sent to it before."""
    asked_s: float = float("-inf")
    """When it can have seen a request the last time; every delay counts from here."""
    delay_s: float = 0.0
    """The longest delay that any of its crawls, or its robots.txt, has asked for."""
    outstanding: int = 0
    asking: int = 0
    """Of those outstanding: for a robots.txt. Nothing else may begin meanwhile."""
    queues: Queues = field(default_factory=Queues)
    failures: int = 0
    """Times in a row that it wanted less or did not answer."""
    silent: int = 0
    """Times in a row that it did not answer at all."""
    condemned: str | None = None
    """Why all that waits is being refused, step by step; then it is tried anew."""
    robots_failures: int = 0
    """Times in a row that a robots.txt of it could not be had."""
    robots_moved: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Where an origin's robots.txt redirects to, and how many redirects that makes."""
    scheduled_s: float | None = None
    """The time under which it stands in the schedule now; ``None`` when it does not."""

    @property
    def idle(self) -> bool:
        """Whether nothing of it waits or is being fetched: it need not be in memory."""
        return not self.queues and not self.outstanding

    @property
    def in_trouble(self) -> bool:
        """Whether more than its delay may keep it from being asked."""
        return bool(self.failures or self.robots_failures)

    def circuit(self, now_s: float) -> Circuit:
        """The host's circuit breaker (Nygard, "Release It!"): its back-off keeps it open, a good answer closes it."""
        if not self.in_trouble:
            return "closed"
        return "open" if now_s < self.next_s and not self.outstanding else "half_open"

    def has_room(self, per_host: int) -> bool:
        """Whether one more request may be out; while the host is in trouble one alone is, the probe."""
        return not self.asking and self.outstanding < (1 if self.in_trouble else per_host)

    def pack(self) -> bytes:
        """What outlives the process of its trouble; its robots.txt are kept by origin."""
        return json.dumps([self.next_s, self.failures, self.silent], separators=(",", ":")).encode()


def unpack(name: str, packed: bytes | None, earliest_s: float, latest_s: float) -> Host:
    """The host as it was left, to be asked again no earlier than ``earliest_s``.

    When it was asked last is not known to a new owner, so it waits; ``latest_s`` bounds what a clock that was set back
    would make of it.
    """
    if packed is None:
        return Host(name, earliest_s)
    next_s, failures, silent = json.loads(packed)
    return Host(name, min(max(next_s, earliest_s), latest_s), failures=failures, silent=silent)
