"""Which sink a DSN means: its scheme is the kind, and a kind is a folder of this room."""

from collections.abc import Callable
from importlib import import_module

from infra.errors import UserError
from infra.kafka.lag import SINK_GROUP
from infra.settings import Settings
from infra.settings.sinks import StoreSettings
from sinks.dsn import scheme
from sinks.sink import Sink

KINDS = {
    "az": "sinks.objects.sink:ObjectsSink",
    "clickhouse": "sinks.clickhouse.sink:ClickHouseSink",
    "dynamodb": "sinks.dynamodb.sink:DynamoDBSink",
    "file": "sinks.objects.sink:ObjectsSink",
    "gs": "sinks.objects.sink:ObjectsSink",
    "kafka": "sinks.kafka.sink:KafkaSink",
    "memory": "sinks.memory.sink:MemorySink",
    "objects": "sinks.objects.sink:ObjectsSink",
    "postgres": "sinks.postgres.sink:PostgresSink",
    "postgresql": "sinks.postgres.sink:PostgresSink",
    "s3": "sinks.objects.sink:ObjectsSink",
    "redis": "sinks.redis.sink:RedisSink",
    "rediss": "sinks.redis.sink:RedisSink",
    "unix": "sinks.redis.sink:RedisSink",
    "webhook+http": "sinks.webhook.sink:WebhookSink",
    "webhook+https": "sinks.webhook.sink:WebhookSink",
    "sqlite": "sinks.sqlite.sink:SQLiteSink",
}
"""Scheme of a DSN to the class, which is made with the settings and the DSN. Imported only when it is used."""

RAW = frozenset({"az", "file", "gs", "kafka", "objects", "s3"})
"""The kinds that take raw pages too."""

Make = Callable[[Settings, str], Sink]


def group(name: str) -> str:
    """The consumer group of the store of this name."""
    return f"{SINK_GROUP}{name}"


def make_sink(name: str, store: StoreSettings, settings: Settings) -> Sink:
    """The sink that the store's DSN means, not yet opened. Raises :class:`UserError` for a scheme of no kind."""
    kind = scheme(store.dsn)
    if kind not in KINDS:
        raise UserError(f"sinks.stores.{name}.dsn begins with {kind!r}; it can begin with: {', '.join(KINDS)}")
    if "pages" in store.topics and kind not in RAW:
        raise UserError(f"sinks.stores.{name} cannot hold raw pages; kinds that can: {', '.join(sorted(RAW))}")
    module, _, attribute = KINDS[kind].partition(":")
    make: Make = getattr(import_module(module), attribute)
    return make(settings, store.dsn)
