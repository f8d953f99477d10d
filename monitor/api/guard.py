"""Who may ask what: pure decisions over the facts of a request.

A page of another site may send requests to this machine from the browser of whoever visits it. So: names in ``Host``
that are not ours are refused (a rebound name), a foreign ``Origin`` is refused, and what changes or costs something
wants the token in a header, which no foreign page can set and no browser sends by itself.
"""

import hmac
import ipaddress
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

Why = Literal["host", "origin", "token", "content_type"]

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Policy:
    """What holds for one server."""

    token: str
    names: Collection[str]
    """Host names under which it may be asked, beside loopback's."""
    open_reading: bool
    """Whether reading needs no token: on loopback alone."""


@dataclass(frozen=True)
class Asked:
    """The facts of one request."""

    changes: bool
    host: str
    origin: str | None
    authorization: str | None
    content_type: str
    has_data: bool = True
    """Whether it asks for data; the page's own files hold none."""


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches ``address``."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def refusal(asked: Asked, policy: Policy) -> Why | None:
    """Why the request is not allowed; ``None`` when it is."""
    name = _name(f"//{asked.host}")
    if name is None or name not in LOOPBACK_NAMES | set(policy.names):
        return "host"
    if asked.origin is not None and not _same(asked.origin, asked.host):
        return "origin"
    if (asked.changes or (asked.has_data and not policy.open_reading)) and not shows_token(asked.authorization, policy):
        return "token"
    if asked.changes and asked.content_type != "application/json":
        return "content_type"
    return None


def shows_token(authorization: str | None, policy: Policy) -> bool:
    """Whether the token was shown, compared in a time that tells nothing of it."""
    scheme, _, shown = (authorization or "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(
        shown.encode("utf-8", "surrogateescape"), policy.token.encode()
    )


def _name(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _same(origin: str, host: str) -> bool:
    """Whether a page of ``origin`` was served by us; behind a proxy that ends TLS the scheme differs."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and parts.netloc.lower() == host.lower()
