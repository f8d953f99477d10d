"""DSNs, and what of them may be seen: a log, a metric or an error never shows a user, a password or a query."""

from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

SECRET_OPTIONS = ("password", "secret", "token", "key", "credential", "passwd", "pwd")
"""An option of a DSN whose name holds one of these is a secret."""


def scheme(dsn: str) -> str:
    """What chooses the kind of store."""
    return dsn.partition(":")[0].lower()


def shown(dsn: str) -> str:
    """The DSN as it may be shown: no user, no password, no query, no fragment."""
    parts = urlsplit(dsn)
    # Not ``hostname`` and ``port``: they refuse what a broken DSN holds, and lists of several servers.
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def secrets(dsn: str) -> frozenset[str]:
    """The password and the secret options, as they are written and as they are meant."""
    parts = urlsplit(dsn)
    _, separator, password = parts.netloc.rpartition("@")[0].partition(":")
    options = (value for name, value in parse_qsl(parts.query) if any(each in name.lower() for each in SECRET_OPTIONS))
    written = {password if separator else "", *options}
    return frozenset(each for value in written for each in (value, unquote(value)) if each)


def scrubbed(text: str, dsn: str) -> str:
    """``text`` without the DSN and without its secrets."""
    text = text.replace(dsn, shown(dsn))
    for secret in sorted(secrets(dsn), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text
