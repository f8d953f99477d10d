"""The sink that posts rows to a webhook."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

import aiohttp

from infra.errors import RetryLater, UserError
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.sinks import StoreOpened
from sinks.dsn import scrubbed, shown
from sinks.judging import one_line
from sinks.sink import Block
from sinks.tables import table_of
from sinks.webhook.answers import failure
from sinks.webhook.deliveries import Delivery, deliveries
from sinks.webhook.signing import key, signature

WITHIN = timedelta(seconds=25)
"""One request, until its answer."""


class WebhookSink:
    """Sends one delivery after the other; they arrive in the order of their offsets."""

    def __init__(self, settings: Settings, dsn: str) -> None:
        """Raises :class:`UserError` for a DSN without a secret, or with one that is too short."""
        del settings
        parts = urlsplit(dsn)
        if not parts.hostname:
            raise UserError(f"{shown(dsn)}: a webhook is written webhook+https://HOST/PATH?secret=whsec_...")
        options = parse_qsl(parts.query)
        self._dsn = dsn
        self._key = key(next((value for name, value in options if name == "secret"), ""))
        query = urlencode([(name, value) for name, value in options if name != "secret"])
        host = parts.netloc.rpartition("@")[2]
        self._url = urlunsplit((parts.scheme.removeprefix("webhook+"), host, parts.path or "/", query, ""))
        self._auth = None
        if parts.username is not None:
            self._auth = aiohttp.BasicAuth(unquote(parts.username), unquote(parts.password or ""), "utf-8")
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> Mapping[str, int]:
        """Make the connections' pool; a webhook can only be asked by sending something."""
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=WITHIN.total_seconds())
            self._session = aiohttp.ClientSession(timeout=timeout, auth=self._auth, trust_env=False)
            emit(StoreOpened(shown(self._dsn)))
        return {}

    async def write(self, topic: TopicName, blocks: Sequence[Block]) -> None:
        """See :class:`sinks.sink.Sink`."""
        for block in blocks:
            if block.entries:
                for delivery in deliveries(table_of(topic), block):
                    await self._send(delivery)

    async def close(self) -> None:
        """See :class:`sinks.sink.Sink`."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _send(self, delivery: Delivery) -> None:
        if self._session is None:
            raise AssertionError
        timestamp_s = int(time.time())
        headers = {
            "content-type": "application/json",
            "user-agent": "odradek",
            "webhook-id": delivery.id,
            "idempotency-key": delivery.id,
            "webhook-timestamp": str(timestamp_s),
            "webhook-signature": signature(self._key, delivery.id, timestamp_s, delivery.body),
        }
        try:
            async with self._session.post(
                self._url, data=delivery.body, headers=headers, allow_redirects=False
            ) as answer:
                status, retry_after = answer.status, answer.headers.get("retry-after")
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            told = scrubbed(one_line(error), self._dsn)
            raise RetryLater(f"{shown(self._dsn)} does not answer: {told}") from None
        failed = failure(shown(self._dsn), status, retry_after, datetime.now(UTC))
        if failed is not None:
            raise failed
