"""Where a redirect leads. Pure."""

import re
from collections.abc import Sequence

from schemas.url import InvalidUrl, canonicalize

REDIRECT_STATUSES = frozenset({300, 301, 302, 303, 305, 306, 307, 308})

_NOT_ASCII = re.compile(rb"[\x80-\xff]")


def redirect_target(base: str, locations: Sequence[bytes]) -> str:
    """The canonical URL that ``locations`` name when they come in the answer for ``base`` (RFC 9110, 10.2.2).

    Bytes beyond ASCII are percent-encoded one by one, whatever charset they were meant in: the server gets back what
    it sent. Raises :class:`InvalidUrl` when nothing that can be crawled is named, or two things are: as browsers do,
    for one of them may be somebody else's (Fetch Standard, 4.4: location URL).
    """
    named = set(locations)
    if not named or named == {b""}:
        raise InvalidUrl("malformed", "a redirect without a Location")
    if len(named) > 1:
        raise InvalidUrl("malformed", "a redirect to several places")
    text = _NOT_ASCII.sub(lambda byte: b"%%%02X" % byte[0][0], named.pop()).decode("ascii")
    return canonicalize(text, base).href
