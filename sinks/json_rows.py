"""Rows as JSON: one object each, times in ISO 8601. Pure; the same row, the same text."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any


def json_rows(found: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """Each row of :func:`sinks.tables.columns` as a line without an end."""
    for values in zip(*found.values(), strict=True):
        row = dict(zip(found, map(_finite, values), strict=True))
        yield json.dumps(row, ensure_ascii=False, separators=(",", ":"), default=iso)


def iso(value: object) -> str:
    """A time in UTC with microseconds, as wide as any other."""
    if not isinstance(value, datetime):
        raise TypeError
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f+00:00").rjust(32, "0")


def _finite(value: object) -> object:
    """JSON has no word for what is no number."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
