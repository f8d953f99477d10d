"""Traps: places of which a site has endlessly many. Pure: what one URL looks like; ``budgets`` counts them.

======================= ==========================================================================================
rule                    a URL that
======================= ==========================================================================================
``too_long``            has more characters than pages have that people made
``too_many_segments``   has a path that goes deeper than sites do
``repeated_segments``   names one segment again and again: a relative link that a server answers at any depth
``too_many_parameters`` has a query to which links keep adding
``repeated_parameters`` has one parameter with one value again and again: the same, in a query
``growing_escapes``     was escaped again each time that it was copied
``calendar``            is a page of a calendar that nobody fills
======================= ==========================================================================================
"""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from infra.settings import TrapSettings

Rule = Literal[
    "too_long",
    "too_many_segments",
    "repeated_segments",
    "too_many_parameters",
    "repeated_parameters",
    "growing_escapes",
    "calendar",
]

_YEAR = timedelta(days=365.25)
_BEFORE_PATH = 3
"""Slashes up to the path, of which the last is its own."""
# Between 1800 and 2199: what goes further has been there before, and other numbers are no years.
_SOME_YEAR = r"(1[89]\d\d|2[01]\d\d)"
_DATED_PATH = re.compile(rf"[/=-]{_SOME_YEAR}[/-](?:0?[1-9]|1[0-2])(?:[/-](?:0?[1-9]|[12]\d|3[01]))?/?$")
_DATED_PATH_CHARS = len("/2026/12/31/")
_DATED_VALUE = re.compile(rf"{_SOME_YEAR}(-?(?:0[1-9]|1[0-2])(?:-?\d\d)?)?(?:[T%].*)?", re.DOTALL)
_MAY_BE_DATED = re.compile("=(?:1[89]|2[01])")
_YEARS = frozenset(("year", "yr", "y", "yyyy", "date", "day", "month", "week", "cal", "calendar", "start", "end"))
_FINER = frozenset(("month", "mon", "m", "mm", "day", "d", "dd", "week", "date"))
_WORDS = re.compile(r"[a-z]+")
_SESSION_CHARS = r"[0-9A-Za-z!._~-]{16,}"
"""What a session looks like: a story's number, under the same name, is shorter."""
_MAY_BE_SESSION = re.compile(rf"[=(]{_SESSION_CHARS}")
_COOKIELESS = r"/\((?:[A-Z]\([0-9a-zA-Z]{16,}\))+\)(?=/)"
"""ASP.NET without cookies: ``/(S(lit3py55t21z5v55vlm25s55))/``."""


class Traps:
    """The rules with their limits."""

    def __init__(self, limits: TrapSettings) -> None:
        self._chars = limits.max_chars or float("inf")
        self._repeats = limits.max_repeats or float("inf")
        self._most_slashes = limits.max_segments + _BEFORE_PATH - 1 if limits.max_segments else float("inf")
        self._few_slashes = min(_BEFORE_PATH + self._repeats, self._most_slashes)
        self._most_ands = limits.max_parameters - 1 if limits.max_parameters else float("inf")
        self._escapes = re.compile(f"%(?:25){{{limits.max_escapes + 1}}}") if limits.max_escapes else None
        self._back, self._ahead = limits.calendar_back // _YEAR, limits.calendar_ahead // _YEAR
        names = "|".join(map(re.escape, sorted(limits.session_parameters)))
        session = rf"(?:{names})={_SESSION_CHARS}"
        self._in_path = re.compile(rf";{session}(?=[/;]|$)|{_COOKIELESS}", re.IGNORECASE)
        self._in_query = re.compile(rf"(?:^|&){session}(?=&|$)", re.IGNORECASE)
        self._has_sessions = bool(names)

    def rule(self, url: str, year: int) -> Rule | None:
        """The rule by which a canonical URL is a trap, in a given year."""
        if len(url) > self._chars:
            return "too_long"
        # Nearly every URL is judged by these looks alone.
        if url.count("/") < self._few_slashes and not url[-2:-1].isdigit() and "?" not in url and "%25" not in url:
            return None
        path, _, query = url.partition("?")
        found = self._of_path(path, year) or (self._of_query(query, year) if query else None)
        if found is None and self._escapes is not None and self._escapes.search(url) is not None:
            return "growing_escapes"
        return found

    def _of_path(self, path: str, year: int) -> Rule | None:
        slashes = path.count("/")
        if slashes > self._most_slashes:
            return "too_many_segments"
        if slashes >= _BEFORE_PATH + self._repeats and _repeats(path.split("/")[_BEFORE_PATH:], self._repeats):
            return "repeated_segments"
        if path[-2:-1].isdigit() and _leaves(path, year - self._back, year + self._ahead):
            return "calendar"
        return None

    def _of_query(self, query: str, year: int) -> Rule | None:
        ands = query.count("&")
        if ands > self._most_ands:
            return "too_many_parameters"
        if ands >= self._repeats and _repeats(query.split("&"), self._repeats):
            return "repeated_parameters"
        return "calendar" if _leads_out(query, year - self._back, year + self._ahead) else None

    def without_session(self, url: str) -> str:
        """The canonical URL without the sessions in it, canonical as well."""
        if not self._has_sessions or _MAY_BE_SESSION.search(url) is None:
            return url
        path, mark, query = url.partition("?")
        left = self._in_query.sub("", query)
        if left != query:
            left = left.removeprefix("&")
            mark = "?" if left else ""
        return f"{self._in_path.sub('', path)}{mark}{left}"

    def without_sessions(self, urls: Sequence[str]) -> Sequence[str]:
        """The same for all URLs of a record: with sessions each visit of a site would find all its pages anew."""
        # Most records need no look at each of theirs.
        together = "".join(urls)
        if "?" in together or ";" in together or ")/" in together:
            return [self.without_session(url) for url in urls]
        return urls


def _repeats(parts: Sequence[str], most: float) -> bool:
    """Whether any part is there more often than ``most``."""
    return len(parts) - len(set(parts)) >= most and any(parts.count(part) > most for part in set(parts))


def _leaves(path: str, first: int, last: int) -> bool:
    """Whether a path ends in a month or a day outside of the years that a calendar is worth reading of."""
    # At the end alone: an article keeps its date in its address for ever, and has a name behind it.
    match = _DATED_PATH.search(path, max(0, len(path) - _DATED_PATH_CHARS))
    return match is not None and not first <= int(match[1]) <= last


def _leads_out(query: str, first: int, last: int) -> bool:
    """The same for the parameters of a query. A year alone may be long ago: there are few of them."""
    if _MAY_BE_DATED.search(query) is None:
        return False
    pairs = [pair.partition("=") for pair in query.split("&")]
    words = [frozenset(_WORDS.findall(name.lower())) for name, _, _ in pairs]
    finer = any(not each.isdisjoint(_FINER) for each in words)
    for named, (_, _, value) in zip(words, pairs, strict=True):
        match = None if named.isdisjoint(_YEARS) else _DATED_VALUE.fullmatch(value)
        if match is not None:
            year = int(match[1])
            if year > last or (year < first and (finer or match[2] is not None)):
                return True
    return False
