"""How many URLs of a host, of one pattern and of a registrable domain a crawl takes. Pure arithmetic on tallies.

It ends the traps that no rule on a single URL can see. :class:`frontier.tallies.Tallies` keeps them.
"""

import json
import math
from dataclasses import dataclass, field
from typing import Literal
from zlib import crc32

from infra.settings import TrapSettings

Spent = Literal["host_budget", "pattern_budget", "domain_budget", "domain_hosts"]
"""Which budget is used up. Refusals are counted, not recorded one by one: they would tell of every URL that is left."""

MOST_PATTERNS = 32
"""Of a host that are counted at a time."""
_NO_DIGITS = str.maketrans("", "", "0123456789")


@dataclass(slots=True)
class Tally:
    """What one crawl has taken of a host, or of a registrable domain."""

    urls: int = 0
    hosts: int = 0
    """Of a domain."""
    patterns: dict[str, int] = field(default_factory=dict)
    """Of a host: URLs by :func:`pattern`."""

    def pack(self) -> bytes:
        """For the store and the changelog."""
        patterns = json.dumps(self.patterns, separators=(",", ":")) if self.patterns else "{}"
        return f"[{self.urls},{self.hosts},{patterns}]".encode()

    def count(self, kind: str) -> None:
        """One more URL of a pattern."""
        # Misra and Gries, "Finding repeated elements" (1982): in bounded memory, and no pattern is ever overrated.
        if kind in self.patterns or len(self.patterns) < MOST_PATTERNS:
            self.patterns[kind] = self.patterns.get(kind, 0) + 1
            return
        self.patterns = {each: count - 1 for each, count in self.patterns.items() if count > 1}


def unpack(packed: bytes | None) -> Tally:
    """The tally that was packed; an empty one when none was."""
    return Tally() if packed is None else Tally(*json.loads(packed))


def pattern(url: str) -> str | None:
    """What a URL with a query has in common with others; a URL without one belongs to no pattern."""
    if "?" not in url:
        return None
    # The order of parameters is no difference: who adds them one by one makes every order of them.
    path, _, query = url.partition("?")
    names = sorted([pair.partition("=")[0] for pair in query.split("&")])
    return f"{crc32('&'.join((path.translate(_NO_DIGITS), *names)).encode()):08x}"


def spent(limits: TrapSettings, host: Tally, domain: Tally, kind: str | None) -> Spent | None:
    """Why one more URL of ``kind`` is not taken."""
    if limits.host_urls and host.urls >= limits.host_urls:
        return "host_budget"
    if limits.domain_hosts and not host.urls and domain.hosts >= limits.domain_hosts:
        return "domain_hosts"
    if limits.domain_urls and domain.urls >= limits.domain_urls:
        return "domain_budget"
    if limits.pattern_urls and kind is not None and host.patterns.get(kind, 0) >= limits.pattern_urls:
        return "pattern_budget"
    return None


def room(limits: TrapSettings, host: Tally, domain: Tally) -> float:
    """URLs without a query of which :func:`spent` need not be asked: none is one too many."""
    if limits.domain_hosts and not host.urls and domain.hosts >= limits.domain_hosts:
        return 0
    return min((limits.host_urls or math.inf) - host.urls, (limits.domain_urls or math.inf) - domain.urls)
