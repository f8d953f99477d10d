"""Robots.txt (RFC 9309): what a fetch of it means, and whether a URL is allowed. Pure; protego reads the rules."""

import json
import math
from collections.abc import Iterator
from datetime import timedelta
from hashlib import blake2b
from typing import NamedTuple

from protego import Protego

from frontier.recent import Recent
from schemas.outcomes import Outcome
from schemas.records import Cut, Fetch
from schemas.robots import ALLOW_ALL, text_of


class Rules(NamedTuple):
    """What one origin's robots.txt says, as it was read at ``read_s``."""

    version: str
    """Hash of the text: every request names the version that allowed it."""
    text: str
    read_s: float

    def pack(self) -> bytes:
        """For the store and the changelog: at most half as long again as what is read."""
        return json.dumps([self.version, self.read_s]).encode() + b"\n" + self.text.encode("utf-8", "replace")


def unpack(packed: bytes) -> Rules:
    """The rules that were packed."""
    head, _, text = packed.partition(b"\n")
    version, read_s = json.loads(head)
    return Rules(version, text.decode(), read_s)


class Wait(NamedTuple):
    """The file could not be had: nothing of the origin may be fetched yet (RFC 9309, 2.3.1.4)."""

    why: str


def verdict(fetch: Fetch, now_s: float) -> Rules | Wait:
    """What the outcome of fetching a robots.txt means: 2xx its rules, 4xx no rules, anything else wait.

    A file that broke off, on the wire or in its coding, is not had: what is missing may be what forbids. One that is
    longer than what has to be read (RFC 9309, 2.5) is.
    """
    match fetch.outcome:
        case Outcome.OK if fetch.cut not in (None, Cut.LENGTH):
            return Wait("cut")
        case Outcome.OK:
            return rules(text_of(fetch.body or b""), now_s)
        case Outcome.CLIENT_ERROR | Outcome.SKIPPED:
            return rules(ALLOW_ALL, now_s)
        case _:
            return Wait(fetch.outcome)


def rules(text: str, now_s: float) -> Rules:
    """The rules of a text, with their version."""
    return Rules(blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest(), text, now_s)


_READ: Recent[str, Protego] = Recent(4 * 1024 * 1024)
"""By text; parsed rules take some twenty times its room."""


def _parsed(text: str) -> Protego:
    found = _READ.get(text)
    if found is None:
        found = Protego.parse(text)
        _READ.put(text, found, len(text))
    return found


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


def sitemaps(rules: Rules) -> Iterator[str]:
    """The sitemaps that the rules name, for whichever agent, as they are written."""
    return iter(_parsed(rules.text).sitemaps) if "sitemap" in rules.text.lower() else iter(())


def deciding_rule(rules: Rules, url: str, token: str) -> str | None:
    """The line without which the verdict on ``url`` would be another; ``None`` where no single line decides.

    The matcher itself is asked, so this can never differ from :func:`allows`.
    """
    verdict_now = allows(rules, url, token)
    lines = rules.text.split("\n")
    kind = "allow" if verdict_now else "disallow"
    for number, line in enumerate(lines):
        name, _, pattern = line.partition(":")
        if name.strip().lower() != kind or not _matches(pattern.partition("#")[0].strip(), url):
            continue
        without = "\n".join(lines[:number] + lines[number + 1 :])
        if bool(Protego.parse(without).can_fetch(url, token)) != verdict_now:
            return line.strip()
    return None


def _matches(pattern: str, url: str) -> bool:
    return bool(pattern) and not Protego.parse(f"User-agent: *\nDisallow: {pattern}").can_fetch(url, "any")
