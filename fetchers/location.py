"""Where a redirect leads. Pure."""

import re

from schemas.url import InvalidUrl, canonicalize

REDIRECT_STATUSES = frozenset({300, 301, 302, 303, 305, 306, 307, 308})

_NOT_ASCII = re.compile(rb"[\x80-\xff]")


def redirect_target(base: str, location: bytes | None) -> str:
    """The canonical URL that ``location`` names when it comes in the answer for ``base`` (RFC 9110, 10.2.2).

    Bytes beyond ASCII are percent-encoded one by one, whatever charset they were meant in: the server gets back what
    it sent. Raises :class:`InvalidUrl` when nothing that can be crawled is named.
    """
    if not location:
        raise InvalidUrl("malformed", "a redirect without a Location")
    text = _NOT_ASCII.sub(lambda byte: b"%%%02X" % byte[0][0], location).decode("ascii")
    return canonicalize(text, base).href
