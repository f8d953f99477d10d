"""What people have said about the pages of single sites: rules as data, cleaners as code."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser

from schemas.records import Page
from streams import structured
from streams.cleaners import NO_CLEANERS, Cleaner, Cleaners, Seen
from streams.markup import Markup
from streams.rules.apply import Found, apply
from streams.rules.compiled import NO_RULES, Rules
from streams.rules.model import RESERVED, STANDARD
from streams.rules.values import Around, Value

MOST_EXTRACTED_CHARS = 2**18
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


class Own(NamedTuple):
    """What a page's own rules and cleaners found."""

    standard: dict[str, str]
    """For columns of the document."""
    extracted: str
    """All other fields, as a JSON object."""
    sources: dict[str, str]
    flags: tuple[str, ...]
    cleaners: tuple[str, ...]
    """Name and version of those that read the page."""


NOTHING = Own({}, "{}", {}, (), ())


class Sites(NamedTuple):
    """In force for a page: decided once, before it is cleaned."""

    rules: Rules = NO_RULES
    cleaners: Cleaners = NO_CLEANERS

    def about(self, host: str) -> bool:
        """Whether somebody has said something about pages of this host."""
        return self.rules.about(host) or bool(self.cleaners.for_host(host))

    def read(self, page: Page, parsed: Markup, html: str, tree: LexborHTMLParser) -> Own:
        """What is found, and no exception: one of a cleaner becomes a flag."""
        rules = self.rules.for_page(page.host, page.url)
        cleaners = self.cleaners.for_host(page.host)
        if not rules and not cleaners:
            return NOTHING
        found = apply(rules, tree, Around(parsed.base, page.fetched_at))
        flags = ["rule_unmet"] if None in found.values.values() else []
        seen = Seen(page.url, page.status, parsed.title, html, tree)
        flags += ["custom_cleaner_failed" for cleaner in cleaners if not _add(cleaner, seen, found)]
        extracted = {name: value for name, value in found.values.items() if name not in STANDARD}
        told = json.dumps(extracted, ensure_ascii=False, separators=(",", ":"))
        if len(told) > MOST_EXTRACTED_CHARS:
            flags.append("extracted_left_out")
            told = "{}"
        return Own(
            {name: value for name, value in found.values.items() if name in STANDARD and isinstance(value, str)},
            told,
            found.sources,
            tuple(flags),
            tuple(f"{each.name}/{each.version}" for each in cleaners),
        )


def _add(cleaner: Cleaner, seen: Seen, found: Found) -> bool:
    """What the cleaner reads goes where no rule has found anything. Whether all of it could be taken."""
    source = f"cleaner {cleaner.name}/{cleaner.version}"
    try:
        read: Mapping[str, object] = cleaner.read(seen)
        values = {name: checked(name, value) for name, value in read.items()}
    except Exception:  # whatever another package's code raises
        return False
    for name, value in values.items():
        if found.values.get(name) is None:
            found.values[name] = value
            found.sources[name] = source
    return True


def checked(name: str, value: object) -> Value:
    """A value that another's code gave. Raises :class:`ValueError` for what is none."""
    if not _NAME.fullmatch(name) or name in RESERVED:
        raise ValueError(name)
    if name in STANDARD and not isinstance(value, str):
        raise ValueError(f"{name} is text")
    return [_scalar(each) for each in value] if isinstance(value, list | tuple) else _scalar(value)


def _scalar(value: object) -> str | int | float | bool:
    match value:
        case bool():
            return value
        case str():
            return structured.clean(value).replace("\0", "")
        case datetime():
            return value.isoformat()
        case int() if -(2**63) <= value < 2**63:
            return value
        case float() if abs(value) != float("inf") and value == value:  # noqa: PLR0124  # not a number
            return value
    raise ValueError(f"{type(value).__name__} is no value of a field")
