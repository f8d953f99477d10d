"""A set of rules made ready: which rules are for a page is found by a look for each part of its host's name."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from lxml import etree

from schemas.url import host_name
from streams.rules.model import FieldRule, RuleSet
from streams.rules.values import Step, step


class ReadyField(NamedTuple):
    """One field of one rule."""

    name: str
    rule: FieldRule
    xpath: etree.XPath | None
    steps: tuple[Step, ...]
    source: str
    """What the document says about where the value is from."""


class ReadyRule(NamedTuple):
    """One rule."""

    order: int
    urls: re.Pattern[str] | None
    fields: tuple[ReadyField, ...]


class Rules:
    """A version of the rules. ``NO_RULES`` is the empty one."""

    def __init__(self, given: RuleSet) -> None:
        self.given = given
        self.version = given.version
        self._by_host: dict[str, list[ReadyRule]] = {}
        for order, (name, rule) in enumerate(given.rules.items()):
            fields = tuple(_ready(name, field, each) for field, each in rule.fields.items())
            ready = ReadyRule(order, re.compile(rule.urls) if rule.urls else None, fields)
            for host in rule.hosts:
                self._by_host.setdefault(host, []).append(ready)

    def for_page(self, host: str, url: str) -> list[ReadyRule]:
        """The rules for a page, in the order in which they are written."""
        if not self._by_host:
            return []
        found = {rule.order: rule for name in names(host) for rule in self._by_host.get(name, ())}
        return [rule for _, rule in sorted(found.items()) if rule.urls is None or rule.urls.search(url)]

    def about(self, host: str) -> bool:
        """Whether there may be rules for a page of this host."""
        return bool(self._by_host) and any(name in self._by_host for name in names(host))


def _ready(rule: str, name: str, field: FieldRule) -> ReadyField:
    where = f"css {field.css}" if field.css is not None else f"xpath {field.xpath}"
    at = f" @{field.attribute}" if field.attribute else ""
    xpath = None if field.xpath is None else etree.XPath(field.xpath, smart_strings=False)
    return ReadyField(name, field, xpath, tuple(map(step, field.transforms)), f"rule {rule}: {where}{at}")


def names(host: str) -> Iterator[str]:
    """What the patterns of hosts may say about ``host``: itself, each domain that it is in, all."""
    name = host_name(host)
    yield host
    if name != host:
        yield name
    while True:
        yield f"*.{name}"
        _, dot, name = name.partition(".")
        if not dot:
            break
    yield "*"


NO_RULES = Rules(RuleSet())
