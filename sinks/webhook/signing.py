"""Signatures of deliveries (Standard Webhooks 1.0, "Signature scheme"). Pure."""

import hmac
from base64 import b64decode, b64encode
from binascii import Error
from hashlib import sha256

from infra.errors import UserError

_PREFIX = "whsec_"
_FEWEST_BYTES = 24


def key(secret: str) -> bytes:
    """The key in a secret. Raises :class:`UserError` for one that is none, or too short to keep anybody out."""
    try:
        found = b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (Error, ValueError):
        found = b""
    if len(found) < _FEWEST_BYTES:
        raise UserError(f"the secret of a webhook is {_PREFIX} and at least {_FEWEST_BYTES} random bytes in base64")
    return found


def signature(secret: bytes, delivery_id: str, timestamp_s: int, body: bytes) -> str:
    """What stands in ``webhook-signature``: the receiver computes the same from what it got."""
    signed = f"{delivery_id}.{timestamp_s}.".encode() + body
    return f"v1,{b64encode(hmac.digest(secret, signed, sha256)).decode()}"
