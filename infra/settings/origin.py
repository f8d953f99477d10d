"""Every setting in force and where it comes from, as it may be shown: no secret."""

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, SecretStr, TypeAdapter

from infra.settings import Settings
from infra.settings.files import files
from infra.settings.live import Place, is_live, leaves

MASK = "***"
_SECRET = re.compile(r"password|secret|token|authorization|cookie|api_?key|\.pem$|jaas|dsn", re.IGNORECASE)
_NO_SECRET = frozenset({"identity.robots_token"})
_IN_URLS = re.compile(r"(?<=://)[^\s/@]*(?=@)|(?<=[?&]password=)[^&\s]*|(?<=[?&]token=)[^&\s]*", re.IGNORECASE)
_DURATION = TypeAdapter(timedelta)


class Shown(NamedTuple):
    """One setting. ``origin`` is ``default``, ``flag``, ``file PATH`` or ``environment NAME``."""

    name: str
    value: str
    origin: str
    live: bool
    """Whether a change in the file takes effect while a process runs."""


def shown(settings: Settings, environment: Mapping[str, str] = os.environ) -> list[Shown]:
    """Every setting, by the path of its name, in the order of the tree. Raises :class:`UserError`."""
    variables = {name.upper(): name for name in environment}
    held = [(path, tomllib.loads(path.read_text())) for path in reversed(files(environment))]
    defaults = dict(leaves(type(settings).model_construct()))
    found: list[Shown] = []
    for place, value in leaves(settings):
        origin = _variable(place, variables) or _file(place, held)
        if origin is None:
            origin = "default" if defaults.get(place) == value else "flag"
        name = ".".join(place)
        found.append(Shown(name, text(name, value), origin, is_live(place)))
    return found


def _variable(place: Place, variables: Mapping[str, str]) -> str | None:
    candidates = [f"ODRADEK_{'__'.join(place[:length])}".upper() for length in range(len(place), 0, -1)]
    if len(place) == 1:
        candidates.insert(0, place[0].upper())
    return next((f"environment {variables[each]}" for each in candidates if each in variables), None)


def _file(place: Place, held: Iterable[tuple[Path, Mapping[str, Any]]]) -> str | None:
    for path, content in held:
        inside: Any = content
        for part in place:
            inside = inside.get(part) if isinstance(inside, Mapping) else None
        if inside is not None:
            return f"file {path}"
    return None


def is_secret(name: str) -> bool:
    """Whether what stands under this name is for nobody's eyes."""
    return name not in _NO_SECRET and not name.endswith("_file") and _SECRET.search(name) is not None


def text(name: str, value: Any) -> str:
    """A value as one would write it, without what nobody shall read."""
    if value is None:
        return "none"
    if isinstance(value, SecretStr) or (is_secret(name) and not isinstance(value, int | float | timedelta)):
        return MASK
    return _plain(_masked(value))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _masked(value: Any) -> Any:
    """The value as JSON has it, secrets inside it masked."""
    match value:
        case BaseModel():
            masked: Any = _masked({name: getattr(value, name) for name in type(value).model_fields})
        case Mapping():
            masked = {
                str(key): MASK if is_secret(str(key)) and part is not None else _masked(part)
                for key, part in value.items()
            }
        case timedelta():
            masked = _DURATION.dump_python(value, mode="json")
        case list() | tuple() | set() | frozenset():
            masked = [_masked(part) for part in value]
        case bool() | int() | float() | None:
            masked = value
        case _:
            masked = _IN_URLS.sub(MASK, str(value))
    return masked
