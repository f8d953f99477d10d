"""Robots.txt (RFC 9309): what a fetch of it means, and whether a URL is allowed. Pure; protego reads the rules."""

import json
import math
from datetime import timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from protego import Protego

from schemas.outcomes import Outcome
from schemas.records import Fetch

MAX_BYTES = 500 * 1024
MAX_LINES = 10_000
ALLOW_ALL = ""


class Rules(NamedTuple):
    """What one origin's robots.txt says, as it was read at ``read_s``."""

    version: str
    """Hash of the text: every request names the version that allowed it."""
    text: str
    read_s: float

    def pack(self) -> bytes:
        """For the store and the changelog."""
        return json.dumps(self, separators=(",", ":")).encode()


def unpack(packed: bytes) -> Rules:
    """The rules that were packed."""
    return Rules(*json.loads(packed))


class Wait(NamedTuple):
    """The file could not be had: nothing of the origin may be fetched yet (RFC 9309, 2.3.1.4)."""

    why: str


def text_of(body: bytes) -> str:
    """The rules in a body: at most 500 KiB, any line end, a byte order mark or HTML is no rule."""
    text = body[:MAX_BYTES]
    if text[:2] in (b"\xff\xfe", b"\xfe\xff"):
        decoded = text.decode("utf-16", "replace")
    else:
        decoded = text.decode("utf-8-sig", "replace")
    if decoded.lstrip()[:1] == "<":
        return ALLOW_ALL
    lines = decoded.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").split("\n")
    # The matcher is linear in what it gets; a line of megabytes is no rule.
    return "\n".join(line[:4_096] for line in lines[:MAX_LINES])


def verdict(fetch: Fetch, now_s: float) -> Rules | Wait:
    """What the outcome of fetching a robots.txt means: 2xx its rules, 4xx no rules, anything else wait."""
    match fetch.outcome:
        case Outcome.OK:
            return rules(text_of(fetch.body or b""), now_s)
        case Outcome.CLIENT_ERROR | Outcome.SKIPPED | Outcome.NOT_MODIFIED:
            return rules(ALLOW_ALL, now_s)
        case _:
            return Wait(fetch.outcome)


def rules(text: str, now_s: float) -> Rules:
    """The rules of a text, with their version."""
    return Rules(blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest(), text, now_s)


@lru_cache(maxsize=4_096)
def _parsed(text: str) -> Protego:
    return Protego.parse(text)


def allows(rules: Rules, url: str, token: str) -> bool:
    """Whether the rules allow ``token`` to fetch ``url``."""
    return not rules.text or bool(_parsed(rules.text).can_fetch(url, token))


def crawl_delay(rules: Rules, token: str, longest: timedelta) -> timedelta:
    """What the rules ask for, at most ``longest``; nonsense asks for nothing."""
    if not rules.text:
        return timedelta(0)
    seconds = _parsed(rules.text).crawl_delay(token)
    if seconds is None or not math.isfinite(seconds) or seconds <= 0:
        return timedelta(0)
    return min(timedelta(seconds=min(float(seconds), 1e6)), longest)
