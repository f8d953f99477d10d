"""What of a robots.txt are rules (RFC 9309), and whether they allow a URL: for all who ask. Pure."""

import re
from functools import lru_cache

from protego import Protego

MAX_BYTES = 500 * 1024
MAX_LINES = 10_000
ALLOW_ALL = ""

_AGENT = re.compile(r"^(\s*user[- ]?agent\s*:\s*[^\s/]+)[\s/].*", re.IGNORECASE)
"""A user agent's product token, and what follows it: a version, or words that the matcher would make part of it."""


def text_of(body: bytes) -> str:
    """The rules in a body: at most 500 KiB, any line end, a byte order mark or HTML is no rule."""
    text = body[:MAX_BYTES]
    if text[:2] in (b"\xff\xfe", b"\xfe\xff"):
        decoded = text.decode("utf-16", "replace")
    else:
        decoded = text.decode("utf-8-sig", "replace")
    if decoded.lstrip()[:1] == "<":
        return ALLOW_ALL
    # A byte that is no UTF-8 would become three; no rule can match by it either way.
    decoded = decoded.replace("\ufffd", "?")
    lines = decoded.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").split("\n")
    # The matcher is linear in what it gets; a line of megabytes is no rule.
    return "\n".join(_AGENT.sub(r"\1", line[:4_096]) for line in lines[:MAX_LINES])


def permits(text: str, url: str, token: str) -> bool:
    """Whether the rules of a text allow ``token`` to fetch ``url``."""
    return not text or bool(_parsed(text).can_fetch(url, token))


@lru_cache(maxsize=64)
def _parsed(text: str) -> Protego:
    return Protego.parse(text)
