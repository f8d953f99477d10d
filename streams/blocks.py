"""A page as text blocks in a tree of boxes, read in one walk over the parsed tree.

A block is a run of text without a block boundary in it: a paragraph, a heading, a cell. A box is an element that may
bound several. Both are numbered in document order, so the blocks of a box are a range, and a sum over any box is a
difference of two running sums.
"""

from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.boilerplate import AROUND, COMMENTS, HIDDEN, TEXT, role
from streams.markup import one_line

# Elements whose text is not the page's. Those that stand within paragraphs are taken away before, the others passed by.
_INSIDE_TEXT = ["script", "style", "template", "noscript", "svg", "button", "select"]
_UNSEEN = frozenset(("iframe", "object", "video", "audio", "canvas", "datalist", "textarea", "dialog"))
HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_INLINE = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i"),
        *("ins", "kbd", "label", "mark", "nobr", "output", "picture", "q", "rp", "rt", "ruby", "s", "samp", "small"),
        *("span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "center"),
    )
)
# A browser lets no block into a paragraph; into the others people put none.
_LEAVES = frozenset(("p", *HEADINGS))
_EMPTY = frozenset(
    ("-comment", "br", "img", "wbr", "source", "input", "link", "meta", "col", "area", "base", "embed", "track")
)
_PASSED = _EMPTY | _UNSEEN
_ALWAYS_AROUND = frozenset(("nav", "figcaption"))
_AROUND = frozenset(("aside", "footer", "form"))
_MOST_LARGE_AROUND = 20
_ALL = 2**31
# Documentation ends its headings and definitions with a sign that links to them.
_SIGNED = frozenset(("dt", *HEADINGS))
_CELLS = frozenset(("td", "th"))
_MOST_ROW_CHARS = 300
BETWEEN_CELLS = " | "


class Block(NamedTuple):
    """``linked`` counts the characters that are links; ``kind`` is the element that bounds it."""

    text: str
    linked: int
    kind: str

    @property
    def own(self) -> int:
        """Characters that are no links."""
        return len(self.text) - self.linked


class Box(NamedTuple):
    """``parent`` is the number of a box, -1 for the body; its blocks are ``first`` to ``end``, ``end`` left out."""

    parent: int
    kind: str
    name: str
    """Its class attribute."""
    named_text: bool
    """Whether its author's name for it says that it holds the text."""
    first: int
    end: int


class Outline(NamedTuple):
    """The first box is the body."""

    blocks: list[Block]
    boxes: list[Box]


def outline(tree: LexborHTMLParser, *, everything: bool = False) -> Outline:
    """What the page holds; ``everything`` takes also what by its name is not the main text.

    To be called after :func:`prepare`.
    """
    body = tree.body
    if body is None:
        return Outline([], [Box(-1, "body", "", named_text=False, first=0, end=0)])
    walk = _Walk(body, everything=everything)
    walk.run(body.first_child)
    return Outline(walk.blocks, walk.boxes())


def prepare(tree: LexborHTMLParser) -> None:
    """Take away what is never text, and make line breaks text: then the text of any element is one call."""
    tree.strip_tags(_INSIDE_TEXT)
    for node in tree.tags("br"):
        node.replace_with("\n")


class _Walk:
    """By hand, since depth must not matter, and since the end of an element matters as much as its beginning."""

    def __init__(self, body: LexborNode, *, everything: bool) -> None:
        self.blocks: list[Block] = []
        self._body = body
        self._body_chars: int | None = None
        self._large_around = 0
        self._everything = everything
        self._in_article = 0
        self._in_link = 0
        self._box = 0
        self._parents = [-1]
        self._kinds = ["body"]
        self._names = [""]
        self._named_text = [False]
        self._first = [0]
        self._end = [0]
        self._cell = 0, 0  # the row of the last cell, and how many blocks there were after it
        self._pieces: list[str] = []
        self._linked = 0

    def boxes(self) -> list[Box]:
        """What :attr:`blocks` are in."""
        return list(map(Box, self._parents, self._kinds, self._names, self._named_text, self._first, self._end))

    def run(self, node: LexborNode | None) -> None:
        """Walk over ``node``, what follows it, and all below."""
        above: list[tuple[LexborNode, str]] = []
        while True:
            if node is None:
                if not above:
                    break
                node, tag = above.pop()
                if tag not in _INLINE:
                    self._leave(tag)
                elif tag == "a":
                    self._in_link -= 1
            else:
                tag = node.tag or ""
                if tag == "-text":
                    text = node.text_content or ""
                    self._pieces.append(text)
                    if self._in_link:
                        self._linked += len(text.strip())
                elif tag in _INLINE or (tag not in _PASSED and self._enters(node, tag)):
                    self._in_link += tag == "a"
                    above.append((node, tag))
                    node = node.first_child
                    continue
            node = node.next
        self._leave("body")

    def _add(self, text: str, linked: int, kind: str) -> None:
        text = one_line(text)
        if text and kind in _SIGNED and text[-1] == "\u00b6":
            text = text[:-1].rstrip()
        if text:
            block = Block(text, min(linked, len(text)), kind)
            if kind in _CELLS:
                self._add_cell(block)
            else:
                self.blocks.append(block)

    def _add_cell(self, cell: Block) -> None:
        """Short cells of one row are one block; in tables that are there for the layout they are not short."""
        row = self._parents[self._box]
        last = self.blocks[-1] if self.blocks else None
        if last and self._cell == (row, len(self.blocks)) and len(last.text) + len(cell.text) < _MOST_ROW_CHARS:
            self.blocks[-1] = Block(f"{last.text}{BETWEEN_CELLS}{cell.text}", last.linked + cell.linked, "tr")
        else:
            self.blocks.append(cell)
        self._cell = row, len(self.blocks)

    def _flush(self) -> None:
        if self._pieces:
            self._add("".join(self._pieces), self._linked, self._kinds[self._box])
            self._pieces.clear()
            self._linked = 0

    def _enters(self, node: LexborNode, tag: str) -> bool:
        """Whether to read on inside of it."""
        self._flush()
        attributes = node.attributes
        found = role(attributes) if attributes else 0
        if found & HIDDEN or (not self._everything and self._is_around(node, tag, found)):
            return False
        if tag in _LEAVES:
            self._add(node.text(deep=True), _linked(node) if not self._in_link else _ALL, tag)
            return False
        if tag == "pre":
            text = node.text(deep=True).strip("\n").rstrip()
            if text:
                self.blocks.append(Block(text, 0, "pre"))
            return False
        self._parents.append(self._box)
        self._kinds.append(tag)
        self._names.append(attributes.get("class") or "" if attributes else "")
        self._named_text.append(bool(found & TEXT))
        self._first.append(len(self.blocks))
        self._end.append(0)
        self._box = len(self._parents) - 1
        self._in_article += tag in {"article", "main"}
        return True

    def _leave(self, tag: str) -> None:
        self._flush()
        self._in_article -= tag in {"article", "main"}
        self._end[self._box] = len(self.blocks)
        self._box = self._parents[self._box]

    def _is_around(self, node: LexborNode, tag: str, found: int) -> bool:
        if tag in _ALWAYS_AROUND or found & COMMENTS:
            return True
        if not (
            (found & AROUND and tag not in {"article", "main"})
            or tag in _AROUND
            or (tag == "header" and not self._in_article)
        ):
            return False
        # What holds half of the page has its name for another reason: a form around all, "has-sidebar" at the top.
        if self._large_around >= _MOST_LARGE_AROUND:
            return False
        if self._body_chars is None:
            self._body_chars = len(self._body.text(deep=True))
        if len(node.text(deep=True)) * 2 < self._body_chars:
            return True
        self._large_around += 1
        return False


def _linked(node: LexborNode) -> int:
    """Characters of links in it."""
    first = node.first_child
    if first is None or (first.next is None and first.is_text_node):
        return 0
    return sum(len(each.text(deep=True)) for each in node.css("a"))
