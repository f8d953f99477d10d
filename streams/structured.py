"""JSON-LD (W3C, JSON-LD 1.1, embedded in HTML): what a page tells search engines about itself."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

MOST_CHARS = 64 * 1024
"""Of all blocks of a page together."""
_MOST_NODES = 300
_SURROGATES = re.compile("[\ud800-\udfff]")
_PAGES = ("Article", "Posting", "Report", "Recipe", "Product", "Book", "Event", "Movie", "VideoObject", "WebPage")

Node = Mapping[str, object]


class Structured(NamedTuple):
    """``blocks`` are the valid blocks as compact JSON; ``page`` the node that is about this page, empty without one."""

    blocks: list[str]
    page: Node


def read(texts: Iterable[str]) -> Structured:
    """The blocks of a page. What is no JSON is left out; lone surrogates are replaced."""
    blocks: list[str] = []
    nodes: list[Node] = []
    room = MOST_CHARS
    for text in texts:
        room -= len(text)
        if room < 0:
            break
        try:
            value = json.loads(text, strict=False, parse_constant=_refuse)
            # An escaped half of a pair is valid JSON, and nothing that could be stored.
            blocks.append(clean(json.dumps(value, ensure_ascii=False, separators=(",", ":"))))
        except (ValueError, RecursionError):
            continue
        nodes += _nodes(value)
    return Structured(blocks, _page(nodes))


def _refuse(constant: str) -> object:
    raise ValueError(constant)


def clean(text: str) -> str:
    """Without lone surrogates."""
    return _SURROGATES.sub("\ufffd", text)


def _nodes(value: object) -> Iterator[Node]:
    """The objects at the top, in lists and in ``@graph``."""
    waiting = [value]
    seen = 0
    while waiting and seen < _MOST_NODES:
        seen += 1
        each = waiting.pop(0)
        if isinstance(each, list):
            waiting += each[:_MOST_NODES]
        elif isinstance(each, dict):
            yield each
            if "@graph" in each:
                waiting.append(each["@graph"])


def _page(nodes: Iterable[Node]) -> Node:
    """The first of the most telling kind: an article before the web page that holds it."""
    best: Node = {}
    rank = len(_PAGES)
    for node in nodes:
        kinds = " ".join(strings(node.get("@type")))
        place = next((n for n, kind in enumerate(_PAGES) if kind in kinds), rank)
        if place < rank:
            best, rank = node, place
    return best


def strings(value: object) -> list[str]:
    """A value or the values of a list, where they are text."""
    values = value if isinstance(value, list) else [value]
    return [clean(each) for each in values if isinstance(each, str) and each.strip()]


def told(value: object, key: str) -> list[str]:
    """Text as it stands, or what objects have under ``key``: persons a ``name``, images a ``url``."""
    found: list[str] = []
    for each in value if isinstance(value, list) else [value]:
        found += strings(each.get(key)) if isinstance(each, dict) else strings(each)
    return found
