"""The candidates of a ``srcset`` attribute (HTML Standard, 4.8.4.2.3)."""

import re

_SKIPPED = re.compile(r"[ \t\n\f\r,]*")
_URL = re.compile(r"[^ \t\n\f\r]+")
_MOST = 50


def candidates(text: str) -> list[str]:
    """The URLs as they are written, in order, of at most 50 candidates; descriptors are not looked at."""
    found: list[str] = []
    place = 0
    while len(found) < _MOST:
        skipped = _SKIPPED.match(text, place)
        url = _URL.match(text, skipped.end() if skipped else place)
        if url is None:
            break
        place = url.end()
        written = url[0]
        if written.endswith(","):
            written = written.rstrip(",")
        else:
            place = _after_descriptors(text, place)
        if written:
            found.append(written)
    return found


def _after_descriptors(text: str, place: int) -> int:
    """Behind the comma that ends a candidate: one that is in no parentheses."""
    while place < len(text):
        comma, opening = text.find(",", place), text.find("(", place)
        if comma < 0:
            return len(text)
        if opening < 0 or comma < opening:
            return comma + 1
        closing = text.find(")", opening)
        if closing < 0:
            return len(text)
        place = closing + 1
    return place
