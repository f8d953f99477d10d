"""Title, links and text of a page that must not be parsed: what patterns can find in linear time."""

import re
from collections.abc import Iterator
from html import unescape

from streams.markup import MAX_TITLE_CHARS, Link, Markup

MAX_CHARS = 4 * 2**20
"""What follows is not looked at, and the document says so."""

# No pattern may run over the next "<": unclosed tags would make it look at the same text again and again.
_TAG = re.compile(r"<[^<>]*>?")
_ANCHOR = re.compile(r"<(?:a|area)[\s/]([^<>]*)", re.IGNORECASE)
_HREF = re.compile(r"""(?:^|[\s"'/])href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_REL = re.compile(r"""(?:^|[\s"'/])rel\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_TITLE = re.compile(r"<title[^<>]*>([^<]*)", re.IGNORECASE)
_HIDDEN = re.compile(r"<(script|style|!--)", re.IGNORECASE)
_ENDS = {
    "script": re.compile(r"</script[^<>]*>?", re.IGNORECASE),
    "style": re.compile(r"</style[^<>]*>?", re.IGNORECASE),
    "!--": re.compile(r"-->"),
}
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*")


def scan(html: str, url: str) -> tuple[Markup, str]:
    """What a parser would have found, roughly: base elements and robots directives are not looked for."""
    visible = "".join(_visible(html[:MAX_CHARS]))
    title = _TITLE.search(visible)
    name = " ".join(unescape(title[1]).split())[:MAX_TITLE_CHARS] if title else ""
    text = unescape(_TAG.sub("\n", visible[: title.start()] + visible[title.end() :] if title else visible))
    text = _LINES.sub("\n", _SPACES.sub(" ", text)).strip().replace("\0", "")
    return Markup(name or None, url, list(_links(visible)), frozenset()), text


def _visible(html: str) -> Iterator[str]:
    """The pieces between scripts, styles and comments."""
    place = 0
    while (hidden := _HIDDEN.search(html, place)) is not None:
        yield html[place : hidden.start()]
        end = _ENDS[hidden[1].lower()].search(html, hidden.end())
        if end is None:
            return
        place = end.end()
    yield html[place:]


def _links(html: str) -> Iterator[Link]:
    for anchor in _ANCHOR.finditer(html):
        href = _value(_HREF, anchor[1])
        if href is not None:
            rel = _value(_REL, anchor[1])
            yield Link(href, rel is not None and "nofollow" in rel.lower().split())


def _value(pattern: re.Pattern[str], attributes: str) -> str | None:
    match = pattern.search(attributes)
    return unescape(match[match.lastindex or 0]) if match else None
