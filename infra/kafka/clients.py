"""What every Kafka client is configured with."""

from datetime import timedelta

from confluent_kafka import KafkaError

from infra.errors import Fatal, UserError
from infra.kafka.security import Config, security_config
from infra.kafka.topics import all_topics
from infra.settings import Settings

PARTITIONER = "murmur2_random"
"""Faust and the Java clients place keys with murmur2; librdkafka's own default puts 92 % of hosts elsewhere."""


def milliseconds(duration: timedelta) -> int:
    """A duration as librdkafka wants it."""
    return int(duration.total_seconds() * 1000)


def bootstrap_servers(settings: Settings) -> str:
    """Where Kafka is. Raises :class:`UserError` when nobody said."""
    if not settings.kafka_bootstrap_servers:
        raise UserError("no Kafka is named: set KAFKA_BOOTSTRAP_SERVERS, or let `odradek crawl` start the embedded one")
    return settings.kafka_bootstrap_servers


def common_config(settings: Settings, client_id: str) -> Config:
    """For producers, consumers and admin clients alike."""
    return {
        "bootstrap.servers": bootstrap_servers(settings),
        "client.id": client_id,
        "socket.keepalive.enable": True,
        # A broker that restarts is back within seconds: look again soon, not after librdkafka's ten.
        "reconnect.backoff.max.ms": 2_000,
        # What goes wrong reaches us as errors of the calls; librdkafka would repeat it on standard error at each try.
        "log_level": 2,
        **security_config(settings.kafka.security),
        **settings.kafka.client,
    }


def producer_config(settings: Settings, client_id: str) -> Config:
    """Idempotent, acknowledged by all, partitioned as Faust partitions, bounded in memory."""
    return common_config(settings, client_id) | {
        "partitioner": PARTITIONER,
        "enable.idempotence": True,
        "acks": "all",
        "linger.ms": milliseconds(settings.kafka.linger),
        "compression.type": settings.kafka.compression,
        "queue.buffering.max.kbytes": settings.kafka.queue_mib * 1024,
        "message.max.bytes": max(topic.max_record_bytes for topic in all_topics().values()) + 64 * 1024,
        # A delivery that is given up leaves its input uncommitted: it is read and done again.
        "delivery.timeout.ms": 120_000,
    }


def consumer_config(settings: Settings, client_id: str, group: str) -> Config:
    """Manual offsets, from the earliest record, cooperative-sticky."""
    return common_config(settings, client_id) | {
        "group.id": group,
        "partition.assignment.strategy": "cooperative-sticky",
        "session.timeout.ms": milliseconds(settings.kafka.session_timeout),
        "heartbeat.interval.ms": milliseconds(settings.kafka.heartbeat_interval),
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        "enable.partition.eof": False,
        "fetch.message.max.bytes": 4 * 2**20,
        "queued.max.messages.kbytes": 32 * 1024,
    }


def is_transient(error: KafkaError) -> bool:
    """Whether the same call may succeed later."""
    return bool(error.retriable()) or error.code() in _TRANSIENT


def judge(error: KafkaError) -> None:
    """What a consumer was given instead of a record: raise for what does not pass by itself.

    Raises :class:`Fatal` or :class:`UserError`; librdkafka goes on trying everything else.
    """
    if error.fatal():
        raise Fatal(f"the Kafka consumer cannot go on: {error.str()}")
    if error.code() in _DENIED:
        raise UserError(f"Kafka refuses us: {error.str()}")


_DENIED = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError._AUTHENTICATION,  # noqa: SLF001  # librdkafka's own codes have no other name
    }
)

_TRANSIENT = frozenset(
    {
        KafkaError._MSG_TIMED_OUT,  # noqa: SLF001
        KafkaError._TIMED_OUT,  # noqa: SLF001
        KafkaError._TRANSPORT,  # noqa: SLF001
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
        KafkaError._QUEUE_FULL,  # noqa: SLF001
        KafkaError._PURGE_QUEUE,  # noqa: SLF001
        KafkaError._PURGE_INFLIGHT,  # noqa: SLF001
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
    }
)
