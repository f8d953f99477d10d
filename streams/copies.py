"""Which page of a crawl had this text before: exactly, or nearly.

A worker remembers the texts that it has seen lately. It sees the pages of its own partitions, so with several workers
it marks some copies and misses others; it never marks a page that is none. All copies of a crawl are told by the table
of its documents afterwards.

Near is a distance of few bits between SimHashes. They are found by pigeonholes: of five pieces of a hash at least one
is equal when at most four bits differ, and mostly when six do.
"""

from typing import NamedTuple

from schemas.records import Document
from streams.fingerprint import distance

NEAR_BITS = 6
_LEAST_WORDS = 20
"""A shorter text is a label, not something that is copied."""
_LEAST_SENTENCES = 8
"""A SimHash of fewer sentences says little."""
_LOOKED_AT_CHARS = 4_000
_PIECES = ((0, 13), (13, 13), (26, 13), (39, 13), (52, 12))
_MOST_IN_A_HOLE = 32


class Copy(NamedTuple):
    """What a document is a copy of; ``bits`` is 0 for an equal text."""

    url: str
    bits: int


class _Generation:
    """Texts that were seen in one stretch of time."""

    def __init__(self) -> None:
        self.exact: dict[bytes, str] = {}
        self.holes: dict[tuple[str, int, int], list[tuple[int, str]]] = {}


class Copies:
    """The texts of a worker, by crawl: those of the last ``size`` documents at least, of twice as many at most."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._young = _Generation()
        self._old = _Generation()

    def find(self, document: Document) -> Copy | None:
        """An earlier page of this crawl with the same or nearly the same text; remembers this one."""
        if not self._size or document.words < _LEAST_WORDS:
            return None
        key = document.crawl.encode() + document.content_hash
        first = self._young.exact.get(key) or self._old.exact.get(key)
        if first is not None:
            return Copy(first, 0) if first != document.url else None
        if len(self._young.exact) >= self._size:
            self._old, self._young = self._young, _Generation()
        self._young.exact[key] = document.url
        return self._near(document) if _has_sentences(document.text) else None

    def _near(self, document: Document) -> Copy | None:
        """The nearest of those in the same holes; puts this one into them."""
        best: Copy | None = None
        for hole in _holes(document):
            for generation in (self._young, self._old):
                for simhash, url in generation.holes.get(hole, ()):
                    bits = distance(simhash, document.simhash)
                    if bits <= NEAR_BITS and url != document.url and (best is None or bits < best.bits):
                        best = Copy(url, bits)
            found = self._young.holes.setdefault(hole, [])
            # A site's template may fill one with thousands: then the others have to tell them apart.
            if len(found) < _MOST_IN_A_HOLE:
                found.append((document.simhash, document.url))
        return best


def _holes(document: Document) -> list[tuple[str, int, int]]:
    return [
        (document.crawl, start, document.simhash >> start & ((1 << width) - 1)) for start, width in _PIECES
    ]  # fmt: skip


def _has_sentences(text: str) -> bool:
    """As the SimHash counts them, roughly, and in the beginning: that there are some is enough."""
    count = text.count("\n", 0, _LOOKED_AT_CHARS) + text.count(". ", 0, _LOOKED_AT_CHARS)
    return count + text.count("\u3002", 0, _LOOKED_AT_CHARS) + 1 >= _LEAST_SENTENCES
