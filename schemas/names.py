"""Tables by host name: exact names, and patterns for all names below one. Pure."""

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")


def of_name(table: Mapping[str, T], name: str) -> T | None:
    """What a table of exact names and ``*.suffix`` patterns has for ``name``; the longest pattern wins."""
    if not table:
        return None
    if name in table:
        return table[name]
    rest = name
    while rest:
        _, _, rest = rest.partition(".")
        if rest and (found := table.get(f"*.{rest}")) is not None:
            return found
    return None
