"""The manual names every setting of the frontier with the default that it has."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from frontier.traps import Rule
from infra.settings import FrontierSettings

MANUAL = (Path(__file__).resolve().parents[3] / "docs" / "frontier.md").read_text()
TABLE = re.compile(r"^\| setting[^\n]*\n(?:\|[^\n]*\n)+", re.MULTILINE)
ROW = re.compile(r"^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \| ([^|]+) \|", re.MULTILINE)
UNITS = {"s": 1, "min": 60, "h": 3_600, "day": 86_400, "days": 86_400, "years": 366 * 86_400}


def settings(group: BaseModel) -> dict[str, Any]:
    """Each setting and its default, those of the groups within too."""
    found: dict[str, Any] = {}
    for name in type(group).model_fields:
        value = getattr(group, name)
        found |= settings(value) if isinstance(value, BaseModel) else {name: value}
    return found


def told() -> dict[str, str]:
    """What the tables say."""
    found: dict[str, str] = {}
    for names, defaults in ROW.findall("".join(TABLE.findall(MANUAL))):
        each = re.findall(r"`([a-z_]+)`", names)
        values = re.split(r", (?!\d{3}\b)", defaults.strip())
        if len(each) == len(values):
            found |= dict(zip(each, values, strict=True))
        else:
            found |= dict.fromkeys(each, defaults.strip())
    return found


def is_default(text: str, value: object) -> bool:
    """Whether the words mean the value."""
    if isinstance(value, timedelta):
        number, unit = text.split()
        return float(number) * UNITS[unit] == value.total_seconds()
    if isinstance(value, frozenset):
        return set(re.findall(r"`([a-z_]+)`", text)) <= value
    return float(text.replace(",", "")) == float(str(value))


@pytest.mark.parametrize("name", settings(FrontierSettings()))
def test_the_manual_gives_each_default(name: str) -> None:
    """A setting that is added or changed without a word about it fails here."""
    assert name in told(), "the manual does not name it"
    assert is_default(told()[name], settings(FrontierSettings())[name]), told()[name]


def test_the_manual_names_every_rule_against_traps() -> None:
    """Among the reasons why a URL was not fetched."""
    assert [rule for rule in get_args(Rule) if f"`{rule}`" not in MANUAL] == []
