"""Cleaners of other people: classes that a package names as entry points in the group ``odradek.cleaners``.

A cleaner is made once in each process, without arguments, and reads pages of the hosts that it names. It runs in the
process that can be killed, so what it does to a page can cost that page alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import entry_points
from typing import NamedTuple, Protocol, runtime_checkable

from selectolax.lexbor import LexborHTMLParser

from infra.errors import UserError
from streams.rules.compiled import names
from streams.rules.values import Value

GROUP = "odradek.cleaners"


class Seen(NamedTuple):
    """What a cleaner sees of a page. It must leave the tree as it is."""

    url: str
    status: int
    title: str | None
    html: str
    tree: LexborHTMLParser


@runtime_checkable
class Cleaner(Protocol):
    """What a package has to offer."""

    @property
    def name(self) -> str:
        """Stands with the version in each document that the cleaner had a hand in."""
        ...

    @property
    def version(self) -> str:
        """Another one whenever it reads pages otherwise."""
        ...

    @property
    def hosts(self) -> Sequence[str]:
        """As in rules: ``shop.example``, ``*.shop.example``, ``*``."""
        ...

    def read(self, page: Seen) -> Mapping[str, Value]:
        """Fields by name. One with a column of its own (title, author, text, ...) must be text and stands there."""
        ...


class Cleaners:
    """Those that are installed, or those that are given."""

    def __init__(self, given: Iterable[Cleaner]) -> None:
        self._by_host: dict[str, list[Cleaner]] = {}
        for cleaner in given:
            for host in cleaner.hosts:
                self._by_host.setdefault(host, []).append(cleaner)

    def for_host(self, host: str) -> list[Cleaner]:
        """Who reads pages of this host, each once."""
        if not self._by_host:
            return []
        found = {id(each): each for name in names(host) for each in self._by_host.get(name, ())}
        return list(found.values())


NO_CLEANERS = Cleaners(())


def installed() -> Cleaners:
    """Those that installed packages name, by name. Raises :class:`UserError` for one that cannot be used."""
    made: list[Cleaner] = []
    for each in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            cleaner = each.load()()
        except Exception as error:  # another package's code
            raise UserError(f"the cleaner {each.name} ({each.value}) cannot be loaded: {error}") from None
        if not isinstance(cleaner, Cleaner):
            raise UserError(f"the cleaner {each.name} ({each.value}) needs name, version, hosts and read()")
        made.append(cleaner)
    return Cleaners(made)
