"""The tallies of hosts and domains: all of them in the store, those in use also in memory."""

from collections.abc import Iterator

from frontier.budgets import Tally, unpack
from frontier.recent import Recent
from frontier.store import Store
from schemas.url import registrable_domain

IN_MEMORY_BYTES = 16 * 1024 * 1024
_LEAST_BYTES = 400
_FIRST_STEP = 16


def of_host(crawl: str, host: str) -> str:
    """The name of a host's tally."""
    return f"{crawl}/{host}"


def of_domain(crawl: str, host: str) -> str:
    """The name of the tally of a host's registrable domain; no name of a host begins with a dot."""
    return f"{crawl}/.{registrable_domain(host)}"


def step(count: int) -> int:
    """Grows with each half or third of the count, from 16 on: a tally is written at each step."""
    if count < _FIRST_STEP:
        return min(count, 1)
    size = count.bit_length()
    return 4 * size + (count >> (size - 2))


class Tallies:
    """Exact in memory, and written only now and then: at the end of a transaction in which one took a step.

    Whoever takes the partition over has forgotten a third of a tally at the most, which a budget can bear, and of a
    domain no host that it has counted: to write all of them with every URL would cost more than all rules together.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changed: dict[str, Tally] = {}
        self._recent: Recent[str, Tally] = Recent(IN_MEMORY_BYTES)

    def get(self, name: str) -> Tally:
        """The tally of this name."""
        found = self._recent.get(name)
        if found is None:
            found = self._changed.get(name) or unpack(self._store.tally(name))
            self._recent.put(name, found, _LEAST_BYTES)
        return found

    def change(self, name: str, tally: Tally, before: tuple[int, int]) -> None:
        """It was changed; its URLs and hosts were so many before."""
        if (step(tally.urls), step(tally.hosts)) != (step(before[0]), step(before[1])):
            self._changed[name] = tally

    def take_changed(self) -> Iterator[tuple[str, bytes]]:
        """Write what has taken a step to the store, and give it for the changelog."""
        for name, tally in self._changed.items():
            packed = tally.pack()
            self._store.put_tally(name, packed)
            yield name, packed
        self._changed.clear()
