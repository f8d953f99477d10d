"""Where the page is and with which token: a file in the data directory that its owner alone may read."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from infra.errors import UserError
from infra.settings import Settings

FILE = "monitor.endpoint"


def publish(settings: Settings, url: str, token: str) -> None:
    """Write the file, whole or not at all. What follows # is never sent by a browser."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    draft = settings.data_dir / f"{FILE}.{os.getpid()}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{url}/#token={token}\n")
    draft.replace(settings.data_dir / FILE)


def withdraw(settings: Settings) -> None:
    """Remove the file."""
    with suppress(FileNotFoundError):
        (settings.data_dir / FILE).unlink()


def token_of(settings: Settings) -> tuple[str, bool]:
    """The token, and whether it was set rather than made up. Raises :class:`UserError`."""
    options = settings.monitor
    given = "" if options.token is None else options.token.get_secret_value()
    if options.token_file is not None:
        given = _read(options.token_file)
    if given and (len(given) < 16 or not given.isascii() or not given.isprintable() or " " in given):
        raise UserError("monitor.token has to be at least 16 printable ASCII characters without spaces")
    return given or secrets.token_urlsafe(24), bool(given)


def _read(path: Path) -> str:
    try:
        found = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"monitor.token_file {path} cannot be read: {error}") from None
    if not found:
        raise UserError(f"monitor.token_file {path} is empty")
    return found
