"""The main text of a page: what remains when navigation, boilerplate and markup are taken away.

The page is read as blocks in boxes (:mod:`streams.blocks`). A block weighs as much as it has text that is no link; the
main part is found by going down from the body, or from what its author calls the text, always to the child that holds
most of the weight, until no child holds nearly all of it. So one article gives its body, and a page of many posts the
box around all of them. Inside, lists of links, labels and the repeated title are left out.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser

from streams.blocks import HEADINGS, Block, Box, Outline, outline, prepare

NAME = "blocks"

_LEAST_CHARS = 40
"""Of a block that counts as text: labels, buttons and dates are shorter."""
_MOST_HEADINGS_CHARS = 2**16
_ENOUGH = 250
"""Weight of a main part that is believed at once."""
_NEARLY_ALL = 0.7
_NAMED_SHARE = 0.4
_OF_SEVERAL = 0.1
"""What boxes of the same name beside one must have, for it to be one part of several: a post, a section."""
_OF_RUNNING_TEXT = frozenset(
    ("p", "pre", "blockquote", "li", "dt", "dd", "td", "th", "tr", "caption", "summary", *HEADINGS)
)
_TOO_SMALL = frozenset(("p", "li", "td", "th", "dt", "dd", "blockquote", *HEADINGS))


class _Part(NamedTuple):
    """Some of a page's blocks, and what they weigh."""

    blocks: Sequence[Block]
    weight: float


class MainText(NamedTuple):
    """The blocks of the main text, in document order."""

    blocks: Sequence[Block]
    link_density: float
    """The share of the main part's characters that are links, those of lists that were left out too."""

    @property
    def text(self) -> str:
        """One line for each block, preformatted text as it is."""
        return "\n".join(block.text for block in self.blocks)

    @property
    def words(self) -> int:
        """Between white space."""
        return sum(
            len(block.text.split()) if block.kind in ("pre", "body") else block.text.count(" ") + 1
            for block in self.blocks
        )

    @property
    def headings(self) -> list[str]:
        """As many ``#`` as the level, a space, the heading."""
        found = [f"{'#' * int(block.kind[1])} {block.text}" for block in self.blocks if block.kind in HEADINGS]
        # An outline is read at a glance: a page of nothing but headings is not told twice.
        ends = accumulate(map(len, found))
        return [heading for heading, end in zip(found, ends, strict=True) if end <= _MOST_HEADINGS_CHARS]

    @property
    def read(self) -> bool:
        """Whether blocks were looked for at all."""
        return not (len(self.blocks) == 1 and self.blocks[0].kind == "body")


def extract(tree: LexborHTMLParser, title: str | None = None) -> MainText:
    """The main text. ``title`` is not repeated in it. Changes the tree."""
    prepare(tree)
    found = outline(tree)
    main = _main_part(found)
    if main.weight < _ENOUGH:
        whole = outline(tree, everything=True)
        other = _main_part(whole)
        chars = sum(len(block.text) for block in found.blocks)
        if other.weight > max(2 * main.weight, _ENOUGH, chars // 5):
            main = other
        elif not main.weight or 5 * main.weight < chars:
            # No article: a list of links or products. All of it is what the page has to say.
            blocks = found.blocks or whole.blocks
            return MainText(blocks, _link_density(blocks))
    return MainText(list(_without_labels(main, title or "")), _link_density(main.blocks))


def unread(text: str) -> MainText:
    """The text of a page whose main part was not looked for."""
    return MainText([Block(text, 0, "body")], 0.0)


def _link_density(blocks: Sequence[Block]) -> float:
    chars = sum(len(block.text) for block in blocks)
    return sum(block.linked for block in blocks) / chars if chars else 0.0


def _weight(block: Block) -> int:
    own = block.own
    return own if own >= _LEAST_CHARS and own > block.linked and block.kind not in HEADINGS else 0


def _main_part(found: Outline) -> _Part:
    sums = [0, *accumulate(map(_weight, found.blocks))]
    weights = [sums[box.end] - sums[box.first] for box in found.boxes]
    here = 0
    heaviest: dict[int, int] = {}
    alike: Counter[tuple[int, str, str]] = Counter()
    for number, box in enumerate(found.boxes):
        alike[box.parent, box.kind, box.name] += weights[number]
        if box.named_text and weights[number] > _NAMED_SHARE * weights[0]:
            here = number
        best = heaviest.setdefault(box.parent, number)
        if weights[number] > weights[best] and box.kind not in _TOO_SMALL:
            heaviest[box.parent] = number
    while weights[here] and (below := heaviest.get(here)) is not None:
        if weights[below] < _NEARLY_ALL * weights[here] or found.boxes[below].kind in _TOO_SMALL:
            break
        box = found.boxes[below]
        beside = alike[box.parent, box.kind, box.name] - weights[below]
        if _is_section(box) and beside > _OF_SEVERAL * weights[below]:
            break
        here = below
    box = found.boxes[here]
    return _Part(found.blocks[box.first : box.end], weights[here])


def _is_section(box: Box) -> bool:
    return box.kind == "section" or (box.kind in {"div", "article"} and box.name != "")


def _without_labels(main: _Part, title: str) -> Iterator[Block]:
    blocks = main.blocks
    unmarked = sum(_weight(block) for block in blocks if block.kind not in _OF_RUNNING_TEXT)
    # Where paragraphs are marked as such, short text outside of them is a caption or a label.
    only_marked = unmarked < 0.3 * main.weight
    # A table of contents or an index is made of links.
    of_links = 4 * sum(block.own for block in blocks) < sum(len(block.text) for block in blocks)
    for block in blocks:
        if not of_links and block.linked > (4 * block.own if block.kind == "p" else block.own):
            continue
        if only_marked and block.kind not in _OF_RUNNING_TEXT and block.own < _LEAST_CHARS:
            continue
        if title and block.kind == "h1" and (block.text in title or title in block.text):
            continue
        yield block


def whole(tree: LexborHTMLParser) -> str:
    """All visible text, in linear time. Changes the tree."""
    tree.strip_tags(["script", "style", "template", "noscript"])
    body = tree.body
    if body is None:
        return ""
    return "\n".join(line for part in body.text(separator="\n").split("\n") if (line := " ".join(part.split())))
