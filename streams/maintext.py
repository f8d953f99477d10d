"""The main text of a page: what remains when navigation, boilerplate and markup are taken away."""

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import HTMLTree
from selectolax.lexbor import LexborHTMLParser

NAME = "fast"


def extract(html: str) -> str | None:
    """The main text; ``None`` when the extractor cannot say. Not for a page that :mod:`streams.hostility` warns of."""
    try:
        # Parsed here, because the extractor takes a third longer when it is given a string.
        return str(extract_plain_text(HTMLTree.parse(html), main_content=True, alt_texts=False)).strip()
    except Exception:  # the extractor is native code that met a page nobody thought of
        return None


def whole(tree: LexborHTMLParser) -> str:
    """All visible text, in linear time. Changes the tree."""
    tree.strip_tags(["script", "style", "template", "noscript"])
    body = tree.body
    if body is None:
        return ""
    return "\n".join(line for part in body.text(separator="\n").split("\n") if (line := " ".join(part.split())))
