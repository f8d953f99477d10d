"""Every setting in force and where it comes from, as it may be shown: no secret."""

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, SecretStr, TypeAdapter

from infra.settings import CONFIG_FILE, Settings

MASK = "***"
_SECRET = re.compile(r"password|secret|token(?!_file)|authorization|cookie|api_?key|\.pem$|jaas|dsn", re.IGNORECASE)
_NO_SECRET = frozenset({"identity.robots_token"})
_IN_URLS = re.compile(r"(?<=://)[^\s/@]*(?=@)|(?<=[?&]password=)[^&\s]*|(?<=[?&]token=)[^&\s]*", re.IGNORECASE)
_DURATION = TypeAdapter(timedelta)


class Shown(NamedTuple):
    """One setting. ``origin`` is ``default``, ``flag``, ``file PATH`` or ``environment NAME``."""

    name: str
    value: str
    origin: str


def shown(settings: Settings, environment: Mapping[str, str] | None = None) -> list[Shown]:
    """Every setting, by the path of its name, in the order of the tree."""
    variables = {name.upper(): name for name in (os.environ if environment is None else environment)}
    path = (os.environ if environment is None else environment).get(CONFIG_FILE)
    file = tomllib.loads(Path(path).read_text()) if path and Path(path).is_file() else {}
    defaults = dict(_leaves(type(settings).model_construct(), ()))
    found: list[Shown] = []
    for place, value in _leaves(settings, ()):
        name = ".".join(place)
        origin = _origin(place, variables, file, path)
        if origin is None:
            origin = "default" if defaults.get(place) == value else "flag"
        found.append(Shown(name, _text(name, value), origin))
    return found


def _leaves(group: BaseModel, at: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name in type(group).model_fields:
        value = getattr(group, name, None)
        if isinstance(value, BaseModel):
            yield from _leaves(value, (*at, name))
        else:
            yield (*at, name), value


def _origin(
    place: tuple[str, ...], variables: Mapping[str, str], file: Mapping[str, Any], path: str | None
) -> str | None:
    candidates = [f"ODRADEK_{'__'.join(place[:length])}".upper() for length in range(len(place), 0, -1)]
    if len(place) == 1:
        candidates.insert(0, place[0].upper())
    for candidate in candidates:
        if candidate in variables:
            return f"environment {variables[candidate]}"
    inside: Any = file
    for part in place:
        if not isinstance(inside, Mapping) or part not in inside:
            return None
        inside = inside[part]
    return f"file {path}"


def _text(name: str, value: Any) -> str:
    """A value as one would write it, without what nobody shall read."""
    if value is None:
        return "none"
    if name not in _NO_SECRET and (_SECRET.search(name) or isinstance(value, SecretStr)):
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
                str(key): MASK if _SECRET.search(str(key)) and part is not None else _masked(part)
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
