"""Undo the content codings of a robots.txt within a bound. Pages travel coded: undoing theirs is the cleaners' work."""

from collections.abc import Sequence
from typing import NamedTuple

from fetchers.media import looks_like_text
from schemas import codings

MAX_ROBOTS_BYTES = 500 * 1024
"""What a crawler has to read at the least, and we at the most (RFC 9309, 2.5)."""

_BROKEN = {"cut_coding", "broken_coding"}


class RobotsText(NamedTuple):
    """A robots.txt as far as it could be read; what is not whole may lack what forbids."""

    body: bytes
    is_whole: bool


def read_robots(body: bytes, content_encoding: Sequence[str], limit: int = MAX_ROBOTS_BYTES) -> RobotsText:
    """The body without the codings that Content-Encoding values name, ``limit`` bytes of it at the most.

    What is not coded as declared is whole where it is text: some servers only say that they code.
    """
    declared = codings.declared(content_encoding)
    undone = codings.undo(body, declared, limit)
    flags = set(undone.flags)
    is_plain = undone.body == body[:limit]
    is_broken = (bool(flags & _BROKEN) and not is_plain) or len(declared) > codings.MAX_CODINGS
    is_doubtful = bool(flags) and is_plain and not looks_like_text(undone.body)
    return RobotsText(undone.body, not (is_broken or is_doubtful))
