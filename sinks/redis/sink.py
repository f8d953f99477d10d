"""The sink that writes to Redis."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from infra.errors import UserError
from infra.settings import Settings
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.sinks import StoreNotDurable
from sinks.blocking import BlockingSink
from sinks.dsn import shown
from sinks.judging import Verdict
from sinks.redis import errors
from sinks.sink import Block
from sinks.tables import Adapt, Table, Type, columns

CONNECT_WITHIN = timedelta(seconds=5)
ANSWER_WITHIN = timedelta(seconds=20)
PREFIX = "odradek:"
_AT_ONCE = 500
"""Rows of one round trip."""

# A script that has written once is let go on without memory: for a new row nothing may be written before it.
_PUT = """
local held = redis.call('HGET', KEYS[1], ARGV[1])
if held then
  if held >= ARGV[2] then return 0 end
  redis.call('DEL', KEYS[1])
end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
return 1
"""


class RedisSink(BlockingSink):
    """Writes to the database that ``dsn`` names, each row by one call of a script."""

    def __init__(self, settings: Settings, dsn: str) -> None:
        super().__init__(settings, dsn)
        self._url, self.prefix = taken_apart(dsn)
        self._client: Any = None
        self._script = ""

    def connect(self) -> Mapping[str, int]:
        """Connect, and teach the server the script."""
        try:
            self._client = Redis.from_url(
                self._url,
                socket_connect_timeout=CONNECT_WITHIN.total_seconds(),
                socket_timeout=ANSWER_WITHIN.total_seconds(),
                retry=Retry(NoBackoff(), 0),
                client_name="odradek",
            )
            self._script = self._client.script_load(_PUT)
        except (ValueError, TypeError):
            # The error's text repeats parts of the DSN.
            raise UserError("the DSN of a store is none that redis-py can read: redis://HOST:6379/0") from None
        if not int(self._client.info("persistence")["aof_enabled"]):
            emit(StoreNotDurable(shown(self.dsn), "set appendonly to yes"))
        return {}

    def insert(self, table: Table, blocks: Sequence[Block]) -> None:
        """Put every record under its key, where no newer one is."""
        rows = iter(zip(*columns(table, blocks, ADAPT).values(), strict=True))
        calls = self._calls(table, rows)
        while portion := list(islice(calls, _AT_ONCE)):
            pipeline = self._client.pipeline(transaction=False)
            for call in portion:
                pipeline.execute_command("EVALSHA", self._script, 1, *call)
            pipeline.execute()

    def _calls(self, table: Table, rows: Iterator[tuple[Any, ...]]) -> Iterator[list[Any]]:
        """The key and the arguments of the script for each row."""
        names = table.names
        key, version = [names.index(name) for name in table.key], names.index(table.version)
        for row in rows:
            call = [
                f"{self.prefix}{table.name}:{':'.join(str(row[place]) for place in key)}",
                table.version,
                row[version],
            ]
            for name, value in zip(names, row, strict=True):
                if value is not None:
                    call += name, value
            yield call

    def disconnect(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def judge(self, error: Exception) -> Verdict:
        """By the class of redis-py's error."""
        return errors.judge(error)


def taken_apart(dsn: str) -> tuple[str, str]:
    """The URL for redis-py, and the prefix of all keys."""
    parts = urlsplit(dsn)
    options = dict(parse_qsl(parts.query))
    prefix = options.pop("prefix", PREFIX)
    return urlunsplit(parts._replace(query=urlencode(options))), prefix


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _time(value: datetime) -> str:
    """As wide as each other, so that versions compare as text."""
    return value.isoformat(timespec="microseconds")


ADAPT: Adapt = {Type.TIME: _time, Type.TEXTS: _json, Type.TEXT_BY_NAME: _json}
