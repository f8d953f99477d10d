"""Whether a page shows anything before its scripts have run. Pure, and linear in whatever the page holds."""

import re
from typing import NamedTuple

SCANNED_BYTES = 512 * 1024

_TAG = re.compile(r"</?([a-zA-Z][a-zA-Z0-9-]*)")
_UNSEEN = frozenset({"script", "style", "noscript", "template", "svg", "title", "textarea", "iframe"})
"""Elements whose text nobody sees, or only who has no scripts."""
_ROOT = re.compile(
    r"""<(?:div|main|section|body)\b[^>]{0,300}?\sid=["']?"""
    r"""(?:root|app|__next|__nuxt|___gatsby|q-app|svelte|main-app|react-root|application)["']?[^>]{0,300}>\s*(?:<!--.{0,100}?-->\s*)?</"""
    r"""|<([a-z][a-z0-9]*-[a-z0-9-]*)\b[^>]{0,300}>\s*</\1>""",
    re.IGNORECASE | re.DOTALL,
)
"""What frameworks fill: an element by one of their names, or one of their own making, with nothing in it."""
_ASKS = re.compile(r"java\s*script", re.IGNORECASE)

ENOUGH_LETTERS = 400
"""A page that shows so much is a page, whatever its scripts would add."""
_HARDLY_ANY = 20


class Shown(NamedTuple):
    """What a page shows without scripts."""

    letters: int
    scripts: int
    links: int
    asks: bool
    """Whether it tells who has no scripts to get some."""
    stands_for_another: bool
    """It is a frameset, or refreshes to another page."""


def needs_browser(html: bytes) -> bool:
    """Whether an HTML page, codings undone, is an empty frame that scripts are to fill."""
    text = html[:SCANNED_BYTES].decode("latin-1")
    shown = look(text)
    if not shown.scripts or shown.letters >= ENOUGH_LETTERS or shown.stands_for_another:
        return False
    if shown.asks or _ROOT.search(text) is not None:
        return True
    return shown.letters < _HARDLY_ANY and not shown.links


def look(html: str) -> Shown:
    """Count what is there to see. Every step goes forward, so that no page makes it look at a place twice."""
    lower = html.lower()
    letters = scripts = links = place = 0
    asks = stands_for_another = False
    while (start := html.find("<", place)) >= 0:
        letters += _letters(html[place:start])
        if html.startswith("<!--", start):
            place = _after(lower, "-->", start)
            continue
        tag = _TAG.match(html, start)
        if tag is None:
            place = start + 1
            continue
        name = tag.group(1).lower()
        place = _after(lower, ">", start)
        links += name == "a"
        scripts += name == "script"
        stands_for_another = stands_for_another or name == "frameset" or _refreshes(name, lower[start:place])
        if name in _UNSEEN and html[start + 1] != "/":
            end = lower.find(f"</{name}", place)
            end = len(html) if end < 0 else end
            asks = asks or (name == "noscript" and _ASKS.search(html, place, end) is not None)
            place = end
    return Shown(letters + _letters(html[place:]), scripts, links, asks, stands_for_another)


def _after(text: str, mark: str, start: int) -> int:
    """The place behind the next ``mark``: the end where there is none."""
    found = text.find(mark, start)
    return len(text) if found < 0 else found + len(mark)


def _letters(text: str) -> int:
    return sum(map(len, text.split()))


def _refreshes(name: str, tag: str) -> bool:
    return name == "meta" and "http-equiv" in tag and "refresh" in tag
