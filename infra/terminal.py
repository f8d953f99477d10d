"""Text from the web on a terminal."""

import re

# Page text may hold sequences that a terminal obeys; only line breaks and tabs are let through.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """``text`` with a replacement character for each control character that it holds."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)
