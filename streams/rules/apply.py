"""The fields that rules find in one page."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lxml import etree
from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.rules.compiled import ReadyField, ReadyRule
from streams.rules.model import Type
from streams.rules.values import MOST_VALUES, Around, Value, typed


class Found(NamedTuple):
    """Values and their sources by name of field; ``None`` for a required field that the page does not have."""

    values: dict[str, Value | None]
    sources: dict[str, str]


NOTHING = Found({}, {})


def apply(rules: Iterable[ReadyRule], tree: LexborHTMLParser, around: Around) -> Found:
    """What ``rules`` find; of several with the same field the first that has a value. Leaves the tree as it is."""
    values: dict[str, Value | None] = {}
    sources: dict[str, str] = {}
    page = _Page(tree)
    for rule in rules:
        for field in rule.fields:
            if values.get(field.name) is not None:
                continue
            found = typed(page.texts(field), field.rule, field.steps, around)
            if found:
                values[field.name] = list(found) if field.rule.many else found[0]
                sources[field.name] = field.source
            elif field.rule.required:
                values[field.name] = None
                sources.setdefault(field.name, field.source)
    return Found(values, sources)


class _Page:
    """The tree as CSS sees it and, once a rule asks, as XPath does: the same elements for both."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self._tree = tree
        self._other: etree._Element | None = None

    def texts(self, field: ReadyField) -> Iterator[str]:
        """What the field's selector finds, as text."""
        rule = field.rule
        if rule.css is not None:
            for node in self._tree.css(rule.css)[:MOST_VALUES]:
                if rule.attribute is None:
                    yield _lines(node) if rule.type is Type.LINES else node.text(deep=True)
                elif (value := node.attributes.get(rule.attribute)) is not None:
                    yield value
        elif field.xpath is not None:
            found = field.xpath(self._xml())
            for each in found[:MOST_VALUES] if isinstance(found, list) else [found]:
                yield _text(each, "\n" if rule.type is Type.LINES else "")

    def _xml(self) -> "etree._Element":
        if self._other is None:
            parser = etree.HTMLParser(encoding="utf-8", huge_tree=True)
            html = (self._tree.html or "").encode("utf-8", "replace")
            tree = etree.fromstring(html or b"<html/>", parser)
            self._other = etree.fromstring("<html/>") if tree is None else tree
        return self._other


def _lines(node: LexborNode) -> str:
    return "\n".join(line for part in node.text(separator="\n").split("\n") if (line := " ".join(part.split())))


def _text(found: object, separator: str) -> str:
    """What an XPath has found: an element, an attribute or text, a number, a truth."""
    if isinstance(found, etree._Element):  # noqa: SLF001  # the class has no public name
        return separator.join(part for part in map(str, found.itertext()) if part.strip() or not separator)
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, float):
        return f"{found:.0f}" if found.is_integer() else repr(found)
    return str(found)
