"""Undo the content codings of a robots.txt within a bound. Pages travel coded: undoing theirs is the cleaners' work."""

from collections.abc import Sequence

from schemas import codings

MAX_ROBOTS_BYTES = 500 * 1024
"""What a crawler has to read at the least, and we at the most (RFC 9309, 2.5)."""


def undo(body: bytes, names: Sequence[str], limit: int = MAX_ROBOTS_BYTES) -> bytes:
    """The body without the codings ``names`` (outermost last), ``limit`` bytes of it at the most.

    What does not decode is given as far as it did; a body that is not coded as declared is given as it is; more codings
    than anybody needs give nothing.
    """
    known = codings.declared(names)
    return b"" if len(known) > codings.MAX_CODINGS else codings.undo(body, known, limit).body
