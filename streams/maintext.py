"""The main text of a page: what remains when navigation, boilerplate and markup are taken away."""

import re

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import HTMLTree
from selectolax.lexbor import LexborHTMLParser

NAME = "fast"

MAX_TAGS = 60_000
"""Above it a page is a list, a dump or an attack: finding its main part would take seconds, its text is taken whole."""
MAX_DEPTH = 1_000
"""The extractor's time grows with the square of the depth."""
_DEEP_FROM_TAGS = 4_000
_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*")
# Elements that have no end tag, or whose end tag people leave out.
_VOID = frozenset(
    f"<{name}"
    for name in (
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"),
        *("p", "li", "td", "tr", "dt", "dd", "option"),
    )
)


def extract(html: str) -> tuple[str, str | None]:
    """The text, and a flag when it could only be taken whole: ``huge`` or ``extractor_failed``."""
    tags = html.count("<")
    if tags > MAX_TAGS or (tags > _DEEP_FROM_TAGS and _is_deep(html)):
        return whole(html), "huge"
    try:
        # Parsed here, because the extractor takes a third longer when it is given a string.
        text = extract_plain_text(HTMLTree.parse(html), main_content=True, alt_texts=False)
        return str(text).strip(), None
    except Exception:  # the extractor is native code that met a page nobody thought of
        return whole(html), "extractor_failed"


def whole(html: str) -> str:
    """All visible text, in linear time."""
    tree = LexborHTMLParser(html)
    tree.strip_tags(["script", "style", "template", "noscript"])
    body = tree.body
    if body is None:
        return ""
    return "\n".join(line for part in body.text(separator="\n").split("\n") if (line := " ".join(part.split())))


def _is_deep(html: str) -> bool:
    """Whether elements nest deeper than any honest page's, as if every void element were closed."""
    depth = 0
    for tag in _TAG.finditer(html):
        if tag[0][1] == "/":
            depth -= 1
        elif tag[0] not in _VOID:
            depth += 1
            if depth > MAX_DEPTH:
                return True
    return False
