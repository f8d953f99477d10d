"""How much work a page would be, found out in linear time before anything parses it.

Parsing HTML as the standard says takes time that grows with the square of the depth of open elements and of the number
of attributes of one tag, and open formatting elements are made anew in each block. Browsers cut at a depth of 512; a
page beyond these limits is no page that people read.
"""

import re
from collections.abc import Callable, Iterable
from enum import Enum
from itertools import accumulate
from operator import sub

MANY_TAGS = 60_000
"""Above it finding the main part would take seconds: all text is taken."""
MOST_TAGS = 250_000
COSTLY_TAGS = 20_000
COSTLY_BYTES = 2 * 2**20
MOST_OPEN = 1_000
MOST_OPEN_FORMATTING = 100
MOST_ATTRIBUTE_PAIRS = 10_000_000
"""Over all tags: the parser compares each attribute of a tag with those before it."""
_COUNT_OPEN_FROM_TAGS = 4_000
_COUNT_OPEN_FROM_UNCLOSED = 500

MOST_ATTRIBUTES = 200_000
_LONG_TAG_CHARS = 200
_LONG_PIECE_CHARS = 1_000
_ALWAYS_COUNT_ATTRIBUTES_FROM_CHARS = 200_000

_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*")
_LONG_PIECE = re.compile(rf"<[^<]{{{_LONG_PIECE_CHARS},}}")
# A tag to its end, quoted values whole. Nothing is given back, so that an open quote is looked at once.
_WHOLE_TAG = re.compile(r"""<[a-zA-Z](?:[^"'>]++|"[^"]*+"|'[^']*+')*+""")
_REST_OF_TAG = re.compile(r"""(?:[^"'>]++|"[^"]*+"|'[^']*+')*+>""")
_QUOTED = re.compile(r"""="[^"]*+"|='[^']*+'""")
# Elements that have no end tag, or whose end tag people leave out.
_NOT_COUNTED = frozenset(
    (
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"),
        *("p", "li", "td", "th", "tr", "dt", "dd", "thead", "tbody", "tfoot"),
    )
)
_FORMATTING = frozenset(
    ("a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u")
)


class Effort(Enum):
    """What may be done with a page."""

    ORDINARY = "ordinary"
    LARGE = "large"
    """It may be parsed; finding its main text would take too long."""
    HOSTILE = "hostile"
    """It must not be parsed."""


def costly(body: bytes) -> bool:
    """Whether a page may take a tenth of a second or more: it is then worth a process that can be killed."""
    return len(body) > COSTLY_BYTES or body.count(b"<") > COSTLY_TAGS


def judge(html: str) -> Effort:
    """The effort that ``html`` is worth."""
    tags = html.count("<")
    if tags > MOST_TAGS or _too_many_attributes(html):
        return Effort.HOSTILE
    if tags > _COUNT_OPEN_FROM_UNCLOSED and _worth_counting(html, tags) and _opens_too_much(html):
        return Effort.HOSTILE
    return Effort.LARGE if tags > MANY_TAGS else Effort.ORDINARY


def _worth_counting(html: str, tags: int) -> bool:
    """Counting what is open costs as much as parsing, so it is left out where little can be."""
    return tags > _COUNT_OPEN_FROM_TAGS or tags - 2 * html.count("</") > _COUNT_OPEN_FROM_UNCLOSED


class _Steps(dict[str, int]):
    """What a tag does to the number of open elements; known names are looked up, others are computed each time."""

    def __init__(self, names: Iterable[str], counts: Callable[[str], bool]) -> None:
        self._counts = counts
        super().__init__({tag: self._step(tag) for name in names for tag in (f"<{name}", f"</{name}")})

    def __missing__(self, tag: str) -> int:
        return self._step(tag)

    def _step(self, tag: str) -> int:
        if not self._counts(tag.strip("</").lower()):
            return 0
        return -1 if tag.startswith("</") else 1


_COMMON = frozenset(
    ("div", "span", "ul", "ol", "dl", "table", "section", "article", "nav", "h1", "h2", "h3", "h4", "pre")
)
_ELEMENTS = _Steps(_NOT_COUNTED | _FORMATTING | _COMMON, lambda name: name not in _NOT_COUNTED)
_FORMATTING_ELEMENTS = _Steps(_NOT_COUNTED | _FORMATTING | _COMMON, lambda name: name in _FORMATTING)


def _opens_too_much(html: str) -> bool:
    tags = _TAG.findall(html)
    return _goes_deeper(_ELEMENTS, tags, MOST_OPEN) or _goes_deeper(_FORMATTING_ELEMENTS, tags, MOST_OPEN_FORMATTING)


def _goes_deeper(steps: _Steps, tags: list[str], limit: int) -> bool:
    """Whether more is open at any place; an end tag closes nothing where nothing is open."""
    sums = list(accumulate(map(steps.__getitem__, tags), initial=0))
    # Most pages are settled by what their sums span, without looking at what each place has before it.
    return max(sums) - min(sums) > limit and any(each > limit for each in map(sub, sums, accumulate(sums, min)))


def _too_many_attributes(html: str) -> bool:
    if len(html) < _ALWAYS_COUNT_ATTRIBUTES_FROM_CHARS and not any(map(_may_be_a_long_tag, _LONG_PIECE.findall(html))):
        return False
    attributes = pairs = 0
    for tag in _WHOLE_TAG.findall(html):
        if len(tag) >= _LONG_TAG_CHARS:
            names = _QUOTED.sub("=", tag)
            count = sum(map(names.count, " \t\n\r\f/="))
            attributes += count
            pairs += count * count
    return attributes > MOST_ATTRIBUTES or pairs > MOST_ATTRIBUTE_PAIRS


def _may_be_a_long_tag(piece: str) -> bool:
    end = _REST_OF_TAG.match(piece, 1)
    return end is None or end.end() > _LONG_TAG_CHARS
