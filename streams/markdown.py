"""The main text as Markdown (CommonMark 0.31): headings, lists, quotes, tables and code keep what they are."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from streams.blocks import BETWEEN_CELLS, HEADINGS, Block

# What would be taken for markup anywhere in a line, the escape itself first, and at the beginning of one.
_ANYWHERE = ("\\", "`", "*", "_", "[", "]", "<")
_LEADING = re.compile(r"([#>+-])(?=\s)|(\d{1,9})([.)])(?=\s)")


def markdown(blocks: Sequence[Block]) -> str:
    """Paragraphs with empty lines between them; the rows of a table and the items of a list stand close."""
    parts: list[str] = []
    for kind, group in groupby(blocks, key=lambda block: "tr" if block.kind in ("td", "th") else block.kind):
        if kind == "tr":
            parts.append("\n".join(_table(list(group))))
        else:
            parts.append(("\n" if kind == "li" else "\n\n").join(map(_block, group)))
    return "\n\n".join(parts)


def _block(block: Block) -> str:
    if block.kind == "pre":
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", block.text)), default=0))
        return f"{fence}\n{block.text}\n{fence}"
    text = escaped(block.text)
    if block.kind in HEADINGS:
        return f"{'#' * int(block.kind[1])} {text}"
    if block.kind == "li":
        return f"- {text}"
    return f"> {text}" if block.kind == "blockquote" else text


def _table(rows: Sequence[Block]) -> Iterator[str]:
    cells = [[escaped(cell).replace("|", "\\|") for cell in row.text.split(BETWEEN_CELLS)] for row in rows]
    columns = max(map(len, cells))
    for number, row in enumerate(cells):
        yield f"| {' | '.join([*row, *[''] * (columns - len(row))])} |"
        if number == 0:
            yield f"|{' --- |' * columns}"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    # Looking for one character after the other takes a tenth of what one pattern for all of them does.
    for sign in _ANYWHERE:
        if sign in text:
            text = text.replace(sign, f"\\{sign}")
    leading = _LEADING.match(text)
    if leading is None:
        return text
    number, behind = leading[2], leading[3]
    return f"{number}\\{behind}{text[leading.end() :]}" if number else f"\\{text}"
