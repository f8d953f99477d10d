"""Which URLs take a browser because somebody says so. Pure."""

import re
from collections.abc import Iterable

from schemas.names import of_name
from schemas.url import split


class BrowserRules:
    """Hosts by name or ``*.suffix``, and patterns that are searched in canonical URLs."""

    def __init__(self, hosts: Iterable[str], patterns: Iterable[str]) -> None:
        self._hosts = dict.fromkeys(hosts, True)
        self._pattern = re.compile("|".join(f"(?:{pattern})" for pattern in patterns) or r"(?!)")

    def hold(self, url: str) -> bool:
        """Whether one of them is for a canonical URL."""
        return self._pattern.search(url) is not None or bool(self._hosts and of_name(self._hosts, split(url).name))
