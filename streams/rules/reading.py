"""From TOML to rules, or to an error that names file, line and place."""

import re
import tomllib
from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from infra.errors import UserError
from streams.rules.model import Rule, RuleSet

_MOST_ERRORS = 20


def read(texts: Mapping[str, str]) -> RuleSet:
    """The rules in ``texts``, which are TOML by name of file: each table is one rule.

    Raises :class:`UserError` with a line for each thing that is wrong; nothing is taken then.
    """
    rules: dict[str, Rule] = {}
    wrong: list[str] = []
    for file, text in texts.items():
        try:
            tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            wrong.append(f"{file}: no TOML: {error}")
            continue
        for name, table in tables.items():
            if name in rules:
                wrong.append(f"{file}: line {line_of(text, [name])}: there is a rule {name!r} already")
            try:
                rules[name] = Rule.model_validate(table)
            except ValidationError as error:
                wrong += _told(file, text, name, error)
    if wrong:
        shown = wrong[:_MOST_ERRORS] + ([f"and {len(wrong) - _MOST_ERRORS} more"] if len(wrong) > _MOST_ERRORS else [])
        raise UserError("the rules are wrong:\n  " + "\n  ".join(shown))
    return RuleSet(rules=rules)


def _told(file: str, text: str, name: str, error: ValidationError) -> list[str]:
    return [
        f"{file}: line {line_of(text, path)}: {'.'.join(path)}: {each['msg'].removeprefix('Value error, ')}"
        for each in error.errors(include_url=False, include_input=False)
        # What the model is asked about a key, it tells under this name: the key before it says enough.
        for path in [[name, *(str(part) for part in each["loc"] if part != "[key]")]]
    ]


def line_of(text: str, path: Sequence[str]) -> int:
    """The line that is nearest to ``path``: of its key, or of the table around it."""
    best, depth = 1, 0
    table: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[+([^\]]+)\]", line):
            here = table = _keys(header[1])
        elif key := re.match(r"""\s*([\w."'-]+)\s*=""", line):
            here = [*table, *_keys(key[1])]
        else:
            continue
        if len(here) > depth and here == list(path[: len(here)]):
            best, depth = number, len(here)
    return best


def _keys(dotted: str) -> list[str]:
    return [each.strip().strip("\"'") for each in dotted.split(".")]
