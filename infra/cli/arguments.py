"""What people type, and who they are."""

import getpass
from datetime import UTC, datetime

from infra.errors import UserError
from schemas.url import InvalidUrl, canonicalize


def moment(text: str | None) -> datetime | None:
    """The time that ``text`` means, UTC where it names no zone. Raises :class:`UserError`."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise UserError(f"{text!r} is no ISO 8601 time; one is 2026-01-31T12:00:00+00:00") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def canonical_host(text: str) -> str:
    """The host in its canonical form. Raises :class:`UserError`."""
    try:
        return canonicalize(f"https://{text}/").host
    except InvalidUrl as error:
        raise UserError(f"{text!r} is no host: {error}") from None


def user() -> str:
    """Who gives the command, for those who read later what was done."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
