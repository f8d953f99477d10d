"""Settings of whom the Kafka clients trust and who they say they are: one group for every client of every stage.

Secrets are files, as orchestrators mount them; each is read when a process starts. A secret that changed is in force
after a restart, which happens by itself: a process that the brokers refuse ends, and reads the new file when it is
started again.
"""

from pathlib import Path
from typing import Literal, Self

from pydantic import FilePath, HttpUrl, model_validator

from infra.settings.group import Group


class OAuthSettings(Group):
    """The client credentials grant (RFC 6749, 4.4): where a token is had, and for whom."""

    token_url: HttpUrl
    client_id: str
    client_secret_file: FilePath
    scope: str = ""


class SecuritySettings(Group):
    """``plaintext`` for one machine; ``ssl`` with a certificate (mutual TLS) or ``sasl_ssl`` for everything else."""

    protocol: Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"] = "plaintext"
    ca_file: FilePath | None = None
    """PEM. Who vouches for the brokers; ``None``: whom the machine trusts. Names are always checked."""
    certificate_file: FilePath | None = None
    """PEM, of this client, with the chain: mutual TLS."""
    key_file: FilePath | None = None
    """PEM, unencrypted."""
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] = "SCRAM-SHA-512"
    """Of the ``sasl_`` protocols."""
    username: str = ""
    password_file: FilePath | None = None
    oauth: OAuthSettings | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("certificate_file and key_file go together")
        if not self.uses_sasl:
            return self
        if self.mechanism == "OAUTHBEARER":
            if self.oauth is None:
                raise ValueError("mechanism OAUTHBEARER needs oauth.token_url, oauth.client_id and the secret's file")
        elif not self.username or self.password_file is None:
            raise ValueError(f"mechanism {self.mechanism} needs username and password_file")
        return self

    @property
    def uses_tls(self) -> bool:
        """Whether the connections are encrypted."""
        return self.protocol in ("ssl", "sasl_ssl")

    @property
    def uses_sasl(self) -> bool:
        """Whether the client names itself by a user or a token."""
        return self.protocol in ("sasl_plaintext", "sasl_ssl")


def secret(path: Path) -> str:
    """What the file holds, without the line end that editors add. Raises :class:`OSError`."""
    return path.read_text().rstrip("\r\n")
