"""Which files hold settings: the one that is named, or a folder's base and the one of the environment."""

import os
from collections.abc import Mapping
from pathlib import Path

from infra.errors import UserError

CONFIG_FILE = "ODRADEK_CONFIG"
ENVIRONMENT = "ODRADEK_ENVIRONMENT"
BASE = "base.toml"
DEFAULT_ENVIRONMENT = "dev"


def files(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """The files, the weakest first; none when none is named.

    Where :data:`CONFIG_FILE` names a folder these are its ``base.toml``, if there is one, and the file of
    :data:`ENVIRONMENT`: ``dev.toml``, ``test.toml``, ``prod.toml`` or any other. Raises :class:`UserError` when what is
    named is not there.
    """
    named = environment.get(CONFIG_FILE)
    if not named:
        return []
    path = Path(named)
    if not path.is_dir():
        if not path.is_file():
            raise UserError(f"{CONFIG_FILE} names {named!r}, which is no file and no folder")
        return [path]
    own = path / f"{environment.get(ENVIRONMENT) or DEFAULT_ENVIRONMENT}.toml"
    if not own.is_file():
        known = ", ".join(sorted(each.stem for each in path.glob("*.toml") if each.name != BASE)) or "none"
        raise UserError(f"{CONFIG_FILE} names {named!r}, which has no {own.name}; {ENVIRONMENT} may be: {known}")
    base = path / BASE
    return [base, own] if base.is_file() else [own]


def contents(environment: Mapping[str, str] = os.environ) -> dict[Path, bytes]:
    """What the files hold now; what cannot be read is left out, so that a change of it is a change."""
    found: dict[Path, bytes] = {}
    try:
        for path in files(environment):
            found[path] = path.read_bytes()
    except (OSError, UserError):
        return found
    return found
