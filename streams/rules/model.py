"""What a rule may say. Everything that could fail on a page is tried here, on none."""

import json
import re
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b
from typing import Annotated, Literal, Self

from lxml import etree
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from schemas.records import Document

STANDARD = frozenset(
    ("title", "author", "published", "modified", "language", "site_name", "description", "canonical", "text")
)
"""Columns of a document that a rule may give instead of what the page tells about itself."""
RESERVED = frozenset(Document.model_fields) - STANDARD
"""Columns that nobody but the cleaner fills."""
_EMPTY_PAGE = LexborHTMLParser("<p>")
_EMPTY_TREE = etree.fromstring("<p/>")


class Type(StrEnum):
    """What a value becomes."""

    TEXT = "text"
    """One line, white space collapsed."""
    LINES = "lines"
    """Text with its line breaks."""
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    """ISO 8601, as exact as it is written; never after the fetch."""
    URL = "url"
    """Canonical, resolved against the page."""


_TYPES = {"published": Type.DATE, "modified": Type.DATE, "canonical": Type.URL, "text": Type.LINES}


def _selector(css: str) -> str:
    try:
        _EMPTY_PAGE.css(css)
    except SelectolaxError:
        raise ValueError(f"{css!r} is no CSS selector: try it in a browser, document.querySelectorAll(...)") from None
    return css


def _path(xpath: str) -> str:
    try:
        etree.XPath(xpath)(_EMPTY_TREE)
    except etree.XPathError as error:
        raise ValueError(f"{xpath!r} is no XPath 1.0: {error}") from None
    return xpath


def _pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
    return pattern


def _host(pattern: str) -> str:
    name = pattern.removeprefix("*.")
    if pattern != "*" and (not name or "*" in name or "/" in name or name != name.lower()):
        raise ValueError(f"{pattern!r} is neither a host (shop.example), a domain (*.shop.example) nor * for all")
    return pattern


Css = Annotated[str, AfterValidator(_selector)]
XPath = Annotated[str, AfterValidator(_path)]
Pattern = Annotated[str, AfterValidator(_pattern)]
Host = Annotated[str, AfterValidator(_host)]
FieldName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Transform(_Part):
    """One step from the text that was found to the text that is meant. Exactly one of these."""

    regex: Pattern | None = None
    """The first group of the first match, or all of it; no match is no value."""
    replace: tuple[str, str] | None = None
    after: str | None = None
    """What follows the first occurrence; without one no value."""
    before: str | None = None
    split: str | None = None
    """Each part is a value of its own: for ``many``."""
    prefix: str | None = None
    map: dict[str, str] | None = None
    """By the text, whose case does not count; what is not in it is no value."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len(self.model_dump(exclude_none=True)) != 1:
            raise ValueError("a transform is exactly one of regex, replace, after, before, split, prefix, map")
        if self.split == "":
            raise ValueError("split needs something to split at")
        return self


class FieldRule(_Part):
    """Where one field is."""

    css: Css | None = None
    xpath: XPath | None = None
    attribute: str | None = None
    """Of the elements that ``css`` finds; without it their text."""
    type: Type = Type.TEXT
    many: bool = False
    """Every value, as a list; otherwise the first."""
    required: bool = False
    """A page of this rule without it is marked ``rule_unmet``: the site may have changed."""
    transforms: tuple[Transform, ...] = ()
    format: str | None = None
    """Of a date that is no ISO 8601, as ``strptime`` reads it."""
    decimal_mark: Literal[".", ","] = "."

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.css is None) == (self.xpath is None):
            raise ValueError("a field has either css or xpath")
        if self.attribute is not None and self.css is None:
            raise ValueError("attribute goes with css; in XPath write /@name")
        if self.format is not None:
            _format(self.format, self.type)
        return self


def _format(layout: str, kind: Type) -> None:
    if kind is not Type.DATE:
        raise ValueError("format is for type = 'date'")
    written = datetime(2001, 2, 3, 4, 5, tzinfo=UTC).strftime(layout)
    try:
        read = datetime.strptime(written, layout)  # noqa: DTZ007  # only whether it can be read
    except ValueError as error:
        raise ValueError(f"{layout!r} is no format of strptime: {error}") from None
    if (read.year, read.month, read.day) != (2001, 2, 3):
        raise ValueError(f"{layout!r} needs year, month and day")


class Rule(_Part):
    """For some pages: their fields."""

    hosts: tuple[Host, ...] = Field(min_length=1)
    """``shop.example``, ``*.shop.example`` (it and all below), or ``*``."""
    urls: Pattern | None = None
    """Found anywhere in the canonical URL."""
    fields: dict[FieldName, FieldRule] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _kinds(cls, given: object) -> object:
        """A field that has a column of its own has that column's type, unless it says another."""
        fields = given.get("fields") if isinstance(given, dict) else None
        if not isinstance(given, dict) or not isinstance(fields, dict):
            return given
        typed = {
            name: {"type": _TYPES[name]} | field if name in _TYPES and isinstance(field, dict) else field
            for name, field in fields.items()
        }
        return given | {"fields": typed}

    @model_validator(mode="after")
    def _columns(self) -> Self:
        for name, field in self.fields.items():
            if name in RESERVED:
                raise ValueError(f"fields.{name}: the document has a column of this name; take another")
            if name in STANDARD and (field.many or field.type is not _TYPES.get(name, Type.TEXT)):
                raise ValueError(f"fields.{name} is one {_TYPES.get(name, Type.TEXT)}: leave out type and many")
        return self


class RuleSet(BaseModel):
    """All rules by name, in the order in which they are asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    rules: dict[str, Rule] = {}

    @property
    def version(self) -> str | None:
        """16 hex digits: the same for rules that mean the same, whatever their comments; ``None`` without rules."""
        if not self.rules:
            return None
        ordered = json.dumps([[name, rule.model_dump(mode="json")] for name, rule in self.rules.items()])
        return blake2b(ordered.encode(), digest_size=8).hexdigest()
