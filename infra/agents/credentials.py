"""``settings.kafka.security`` as Faust and its aiokafka want it."""

import asyncio
import json
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import faust
from aiokafka.abc import AbstractTokenProvider

from infra.errors import UserError
from infra.kafka.security import read_secret
from infra.settings.security import OAuthSettings, SecuritySettings

_ANSWER_S = 10.0
_RENEW_AT = 0.8
"""Of a token's life."""


def credentials(security: SecuritySettings) -> Any:
    """What ``broker_credentials`` takes; ``None`` for plaintext. Raises :class:`UserError` for unusable files."""
    context = tls_context(security) if security.uses_tls else None
    if not security.uses_sasl:
        return None if context is None else faust.SSLCredentials(context)
    if security.oauth is not None:
        return faust.OAuthCredentials(oauth_cb=Tokens(security.oauth, _fetch, time.monotonic), ssl_context=context)
    return faust.SASLCredentials(
        username=security.username,
        password="" if security.password_file is None else read_secret(security.password_file),
        mechanism=security.mechanism,
        ssl_context=context,
    )


def tls_context(security: SecuritySettings) -> ssl.SSLContext:
    """Certificates and names are checked, TLS is 1.2 at least."""
    try:
        context = ssl.create_default_context(cafile=security.ca_file)
        if security.certificate_file is not None:
            context.load_cert_chain(security.certificate_file, security.key_file)
    except (OSError, ssl.SSLError) as error:
        raise UserError(f"kafka.security: the TLS files cannot be used: {error}") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class Tokens(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka has no types
    """Tokens of the client credentials grant, each used until most of its life is over (RFC 6749, 4.4 and 5.1)."""

    def __init__(
        self, oauth: OAuthSettings, fetch: Callable[[OAuthSettings], dict[str, Any]], now_s: Callable[[], float]
    ) -> None:
        super().__init__()
        self._oauth = oauth
        self._fetch = fetch
        self._now_s = now_s
        self._token = ""
        self._renew_at_s = 0.0

    async def token(self) -> str:
        """One that is valid for a while. Raises :class:`OSError` or :class:`ValueError` when none can be had."""
        if not self._token or self._now_s() >= self._renew_at_s:
            answer = await asyncio.to_thread(self._fetch, self._oauth)
            self._token = str(answer["access_token"])
            self._renew_at_s = self._now_s() + _RENEW_AT * float(answer.get("expires_in", 60))
        return self._token


def _fetch(oauth: OAuthSettings) -> dict[str, Any]:
    fields = {
        "grant_type": "client_credentials",
        "client_id": oauth.client_id,
        "client_secret": read_secret(Path(oauth.client_secret_file)),
    } | ({"scope": oauth.scope} if oauth.scope else {})
    request = Request(str(oauth.token_url), urlencode(fields).encode(), {"Accept": "application/json"})  # noqa: S310
    with urlopen(request, timeout=_ANSWER_S) as answer:  # noqa: S310  # the operator names it
        found: dict[str, Any] = json.load(answer)
    if "access_token" not in found:
        raise ValueError("the token endpoint's answer has no access_token")
    return found
