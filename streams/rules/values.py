"""From the text of an element to a value of a type: pure, and no value rather than a guessed one."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from schemas.url import InvalidUrl, canonicalize
from streams import dates, structured
from streams.rules.model import FieldRule, Transform, Type

Scalar = str | int | float | bool
Value = Scalar | list[Scalar]
Step = Callable[[str], Sequence[str]]

MOST_CHARS = 10_000
"""Of one value; of text with line breaks a hundred times as much."""
MOST_VALUES = 1_000
_INT64 = 2**63
_TRUTH = dict.fromkeys(("true", "yes", "1", "on"), True) | dict.fromkeys(("false", "no", "0", "off"), False)
_NUMBER = {
    # Groups of three digits are groups; anything else between digits is another number.
    ".": re.compile(r"[-+\u2212]?(?:\d{1,3}(?:[,\u00a0\u202f' ]\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,3})?"),
    ",": re.compile(r"[-+\u2212]?(?:\d{1,3}(?:[.\u00a0\u202f' ]\d{3})+|\d+)(?:,\d+)?(?:[eE][-+]?\d{1,3})?"),
}


class Around(NamedTuple):
    """What a value may depend on beside its text."""

    base: str
    fetched_at: datetime


def step(transform: Transform) -> Step:
    """One transform, ready."""
    [(name, given)] = transform.model_dump(exclude_none=True).items()
    return _STEPS[name](given)


def _replace(pair: tuple[str, str]) -> Step:
    return lambda text: [text.replace(*pair)]


def _after(mark: str) -> Step:
    return lambda text: [text.partition(mark)[2].strip()] if mark in text else []


def _before(mark: str) -> Step:
    return lambda text: [text.partition(mark)[0].strip()] if mark in text else []


def _split(mark: str) -> Step:
    return lambda text: [part.strip() for part in text.split(mark)]


def _prefix(mark: str) -> Step:
    return lambda text: [mark + text]


def _map(meant: dict[str, str]) -> Step:
    known = {name.lower(): value for name, value in meant.items()}
    return lambda text: [known[text.lower()]] if text.lower() in known else []


def _regex(written: str) -> Step:
    pattern = re.compile(written)

    def found(text: str) -> list[str]:
        match = pattern.search(text)
        if match is None:
            return []
        return [(match[1] if pattern.groups else match[0]) or ""]

    return found


_STEPS: dict[str, Callable[[Any], Step]] = {
    "regex": _regex,
    "replace": _replace,
    "after": _after,
    "before": _before,
    "split": _split,
    "prefix": _prefix,
    "map": _map,
}


def typed(texts: Iterable[str], field: FieldRule, steps: Sequence[Step], around: Around) -> list[Scalar]:
    """The values of ``texts``, those left out that are none of the field's type."""
    lines = field.type is Type.LINES
    limit = MOST_CHARS * 100 if lines else MOST_CHARS
    values: list[Scalar] = []
    for found in texts:
        text = structured.clean(found[:limit].replace("\0", ""))
        parts = [text.strip() if lines else " ".join(text.split())]
        for each in steps:
            parts = [made for part in parts for made in each(part)][:MOST_VALUES]
        read = (_read(part[:limit], field, around) for part in parts if part)
        values += [value for value in read if value is not None]
        if values and (not field.many or len(values) >= MOST_VALUES):
            break
    return values[:MOST_VALUES]


def _read(text: str, field: FieldRule, around: Around) -> Scalar | None:
    match field.type:
        case Type.INTEGER:
            return _integer(_number(text, field.decimal_mark))
        case Type.NUMBER:
            return _number(text, field.decimal_mark)
        case Type.BOOLEAN:
            return _TRUTH.get(text.lower())
        case Type.DATE:
            return _date(text, field.format, around.fetched_at)
        case Type.URL:
            return _url(text, around.base)
    return text


def _integer(number: float | None) -> int | None:
    return int(number) if number is not None and number.is_integer() and abs(number) < _INT64 else None


def _url(text: str, base: str) -> str | None:
    try:
        return canonicalize(text, base).href
    except InvalidUrl:
        return None


def _number(text: str, mark: str) -> float | None:
    """The one number in ``text``, whatever currency or unit stands beside it."""
    found = _NUMBER[mark].findall(text)
    if len(found) != 1:
        return None
    digits = re.sub(rf"[^\d{re.escape(mark)}eE+-]", "", found[0].replace("\u2212", "-")).replace(",", ".")
    number = float(digits)
    return number if math.isfinite(number) else None


def _date(text: str, layout: str | None, fetched_at: datetime) -> str | None:
    if layout is None:
        return dates.read(text, fetched_at)
    try:
        moment = datetime.strptime(text, layout)  # noqa: DTZ007  # a page that names no zone has none
    except ValueError:
        return None
    timed = any(sign in layout for sign in ("%H", "%I", "%c", "%X", "%T"))
    written = moment.isoformat() if timed else moment.date().isoformat()
    return dates.read(written, fetched_at.astimezone(UTC))
