"""The stores that are written to: those of the settings, and those of a file that may change while a crawl runs."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from infra.errors import UserError
from infra.settings.sinks import SinkSettings, StoreName, StoreSettings

Stores = Mapping[str, StoreSettings]

_FILE = TypeAdapter(dict[StoreName, StoreSettings])


def stores(sinks: SinkSettings) -> Stores:
    """All of them now, those of the file in place of others of the same name. Raises :class:`UserError`."""
    return sinks.stores if sinks.file is None else {**sinks.stores, **parse(sinks.file, read(sinks.file))}


def read(path: Path) -> bytes:
    """The file as it is. Raises :class:`UserError` when it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"the stores of sinks.file cannot be read: {path}: {error.strerror}") from None


def parse(path: Path, content: bytes) -> Stores:
    """The stores of the file's ``content``: TOML, a table for each. Raises :class:`UserError` without any DSN in it."""
    try:
        return _FILE.validate_python(tomllib.loads(content.decode()))
    except ValidationError as error:
        told = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_input=False))
        raise UserError(f"{path}: {'; '.join(told)}") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path} is no TOML: {error}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is no TOML: it is no UTF-8") from None
