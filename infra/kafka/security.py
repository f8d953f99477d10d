"""``settings.kafka.security`` as librdkafka wants it, and how a refusal by the brokers is told from an absence."""

import re
from pathlib import Path

from confluent_kafka import KafkaError

from infra.errors import UserError
from infra.settings.security import OAuthSettings, SecuritySettings, secret

Config = dict[str, str | int | float | bool]

_REFUSALS = frozenset({KafkaError._AUTHENTICATION, KafkaError._SSL})  # noqa: SLF001  # librdkafka's own codes

_ALERT = "ssl/tls alert"
"""How OpenSSL tells that the other side ended TLS: with version 1.3 a client's certificate is judged after the
handshake, and librdkafka takes it for a broken connection."""


def security_config(security: SecuritySettings) -> Config:
    """Settings of one client. Raises :class:`UserError` when a secret's file cannot be read."""
    config: Config = {"security.protocol": security.protocol}
    if security.uses_tls:
        config["ssl.endpoint.identification.algorithm"] = "https"
        files = {
            "ssl.ca.location": security.ca_file,
            "ssl.certificate.location": security.certificate_file,
            "ssl.key.location": security.key_file,
        }
        config |= {name: str(path) for name, path in files.items() if path is not None}
    if security.uses_sasl:
        config["sasl.mechanism"] = security.mechanism
    if security.oauth is not None:
        config |= _oauth(security.oauth)
    elif security.uses_sasl and security.password_file is not None:
        config |= {"sasl.username": security.username, "sasl.password": read_secret(security.password_file)}
    return config


def _oauth(oauth: OAuthSettings) -> Config:
    config: Config = {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": str(oauth.token_url),
        "sasl.oauthbearer.client.id": oauth.client_id,
        "sasl.oauthbearer.client.secret": read_secret(oauth.client_secret_file),
    }
    return config | ({"sasl.oauthbearer.scope": oauth.scope} if oauth.scope else {})


def read_secret(path: Path) -> str:
    """What a secret's file holds. Raises :class:`UserError` naming the file, never what is in it."""
    try:
        return secret(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the secret in {path} cannot be read: {type(error).__name__}") from None


class Refusal:
    """Given to a client as its ``error_cb``: whether every broker is there but will not have us, and why.

    A broker that is away comes back, and librdkafka goes on trying. One that refuses a password or a certificate does
    so until somebody mends it: whoever owns the client asks here and ends, instead of trying for ever.
    """

    def __init__(self) -> None:
        self._heard: str | None = None
        self.reason: str | None = None
        """What the brokers say; ``None`` while none has refused us, or any still answers."""

    def __call__(self, error: KafkaError) -> None:
        """Called by the client while it is polled."""
        if error.code() in _REFUSALS or _ALERT in error.str():
            self._heard = _plain(error.str())
        elif error.code() == KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001
            self.reason = self._heard
        else:
            self._heard = None


def _plain(text: str) -> str:
    """Librdkafka's message without its measurements and OpenSSL's codes."""
    text = text.partition(" (after ")[0].replace("ssl/tls alert ", "the broker says: ")
    return re.sub(r"error:[0-9A-F]+:SSL routines::", "", re.sub(r": SSL alert number \d+", "", text))
