"""Every origin's newest robots.txt: all of them in the store, the last used also in memory."""

from frontier.memory import Memory
from frontier.recent import Recent
from frontier.robots import Rules, unpack

IN_MEMORY_BYTES = 32 * 1024 * 1024
_LEAST_BYTES = 500
"""What an empty one costs."""


class Rulebook:
    """A robots.txt may have 500 KiB, and hosts are many: so memory holds a bounded part."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._recent: Recent[str, Rules] = Recent(IN_MEMORY_BYTES)

    def read(self, origin: str) -> Rules | None:
        """The rules of an origin, however old; ``None`` when they were never had."""
        rules = self._recent.get(origin)
        if rules is None and (packed := self._memory.store.robots(origin)) is not None:
            rules = unpack(packed)
            self._recent.put(origin, rules, _LEAST_BYTES + len(packed))
        return rules

    def write(self, origin: str, rules: Rules) -> None:
        """Remember the newest rules of an origin."""
        self._memory.put_robots(origin, rules)
        self._recent.put(origin, rules, _LEAST_BYTES + len(rules.text))
