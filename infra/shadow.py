"""Documents made anew, kept beside the ones that are there until somebody has judged them: what a store offers to that.

The room that owns a store registers an opener under the entry point group ``odradek.shadows``; ``odradek replay`` uses
it. So the room that cleans and the room that stores need not know each other.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from importlib.metadata import entry_points
from typing import NamedTuple, Protocol

from infra.errors import UserError
from infra.settings import Settings
from schemas.records import Document

GROUP = "odradek.shadows"
_NAME = re.compile(r"[a-z0-9][a-z0-9_]{0,39}")


class Sample(NamedTuple):
    """One difference: a field of one page, before and now, each as text."""

    crawl: str
    url: str
    visit: int
    before: str
    now: str


class Difference(NamedTuple):
    """One field, over all documents that are on both sides."""

    field: str
    changed: int
    appeared: int
    """Of those: empty before, and not now."""
    vanished: int
    """Of those: empty now, and not before."""
    samples: Sequence[Sample]


class Comparison(NamedTuple):
    """The shadow against what is there."""

    rows: int
    """In the shadow."""
    without_row: int
    """Of those: there is no such document beside them."""
    same: int
    """Of those: no field differs."""
    differences: Sequence[Difference]
    """Of the fields that differ anywhere, the most different first."""


class ShadowName(NamedTuple):
    """A shadow that there is, and what its maker wrote about it."""

    name: str
    about: str
    rows: int


class Shadows(Protocol):
    """Tables of documents beside the one that is read. A document is known by crawl, URL and visit on both sides."""

    def present(self) -> list[ShadowName]:
        """The shadows that there are, by name."""
        ...

    def create(self, name: str, about: str) -> None:
        """An empty shadow. Raises :class:`UserError` when there is one of this name."""
        ...

    def write(self, name: str, documents: Sequence[Document]) -> None:
        """Add documents; of two of one visit the one that was cleaned later stays."""
        ...

    def compare(self, name: str, samples: int) -> Comparison:
        """Field by field, with so many samples of each; what always differs (times, cleaner) is left out."""
        ...

    def promote(self, name: str) -> int:
        """Let its documents take the place of those that are there, then drop it; how many. Can be repeated."""
        ...

    def drop(self, name: str) -> None:
        """Forget it."""
        ...


def shadows(settings: Settings) -> AbstractContextManager[Shadows]:
    """Where shadows are kept. Raises :class:`UserError` when the store cannot be opened for writing."""
    found = list(entry_points(group=GROUP))
    if not found:
        raise UserError("no store is installed that could keep a shadow")
    opener: Callable[[Settings], AbstractContextManager[Shadows]] = found[0].load()
    return opener(settings)


def usable_name(name: str) -> str:
    """``name``, when it can be one. Raises :class:`UserError`."""
    if not _NAME.fullmatch(name):
        raise UserError(f"{name!r} is no name for a replay: 1 to 40 small letters, digits and underscores")
    return name
