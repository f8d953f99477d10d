"""Web Bot Auth: requests that prove who sends them (RFC 9421 with Ed25519, draft-meunier-web-bot-auth-architecture).

A site that wants to know finds the public key in a directory at the address that Signature-Agent names, by the key's
thumbprint (RFC 7638). What is signed is that address and the authority asked, for a short while and with a nonce: a
signature that leaks is of no use elsewhere, and of none later. Pure: the clock and the nonce are passed in.
"""

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import TypedDict

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from infra.errors import UserError
from infra.settings.headers import SignatureSettings

DIRECTORY_PATH = "/.well-known/http-message-signatures-directory"
DIRECTORY_TYPE = "application/http-message-signatures-directory+json"
NONCE_BYTES = 16

_TAG = "web-bot-auth"
_LABEL = "sig1"


class PublicKey(TypedDict):
    """A JSON Web Key (RFC 8037)."""

    kty: str
    crv: str
    x: str


class Signer:
    """Signs requests with one key."""

    def __init__(self, key: Ed25519PrivateKey, agent: str, lifetime: timedelta) -> None:
        self._key = key
        self._agent = f'"{agent}"'
        self._lifetime_s = int(lifetime.total_seconds())
        self._key_id = thumbprint(public_key(key))

    def lines(self, authority: str, now_s: float, nonce: bytes) -> str:
        """Header lines for a request to ``authority``, which is a canonical host; ``now_s`` by the wall clock."""
        created = int(now_s)
        parameters = (
            f'("@authority" "signature-agent");created={created};expires={created + self._lifetime_s}'
            f';keyid="{self._key_id}";alg="ed25519";nonce="{b64encode(nonce).decode()}";tag="{_TAG}"'
        )
        covered = [("@authority", authority), ("signature-agent", self._agent)]
        signature = b64encode(self._key.sign(signature_base(covered, parameters))).decode()
        return (
            f"Signature-Agent: {self._agent}\r\n"
            f"Signature-Input: {_LABEL}={parameters}\r\n"
            f"Signature: {_LABEL}=:{signature}:\r\n"
        )


def signature_base(covered: Sequence[tuple[str, str]], parameters: str) -> bytes:
    """What is signed: the components by name and value, then the signature's own parameters (RFC 9421, 2.5)."""
    lines = [f'"{name}": {value}' for name, value in covered]
    return "\n".join([*lines, f'"@signature-params": {parameters}']).encode("ascii")


def public_key(key: Ed25519PrivateKey) -> PublicKey:
    """The public half, as directories hold it."""
    raw = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return PublicKey(kty="OKP", crv="Ed25519", x=_base64url(raw))


def thumbprint(key: PublicKey) -> str:
    """The name of a key (RFC 7638; RFC 8037, 2)."""
    required = json.dumps({name: key[name] for name in ("crv", "kty", "x")}, separators=(",", ":"))
    return _base64url(sha256(required.encode()).digest())


def directory(keys: Sequence[Ed25519PrivateKey]) -> str:
    """The document to be served at :data:`DIRECTORY_PATH` as :data:`DIRECTORY_TYPE`."""
    held = [public_key(key) | {"kid": thumbprint(public_key(key)), "use": "sig"} for key in keys]
    return json.dumps({"keys": held}, indent=2)


def new_key() -> bytes:
    """A key as PEM."""
    return Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def read_key(path: Path) -> Ed25519PrivateKey:
    """The key of a file. Raises :class:`UserError`, which shows nothing of it."""
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise UserError(f"the signing key cannot be read: {error}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise UserError(f"{path} holds no private key as PEM without a password") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise UserError(f"the key in {path} is not of Ed25519")
    return key


def signer(settings: SignatureSettings) -> Signer | None:
    """What the settings want: ``None`` where nothing is signed."""
    if settings.key_file is None:
        return None
    return Signer(read_key(settings.key_file), settings.agent, settings.lifetime)


def _base64url(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")
