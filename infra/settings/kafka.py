"""Settings of the Kafka clients."""

from datetime import timedelta

from pydantic import Field, field_validator

from infra.settings.group import Group
from infra.settings.security import SecuritySettings


class KafkaSettings(Group):
    """How every stage talks to Kafka. The bootstrap servers are ``KAFKA_BOOTSTRAP_SERVERS``."""

    partitions: int = Field(default=4, ge=1, le=10_000)
    """Of every co-partitioned topic. Chosen once: growing it moves hosts between frontiers."""
    replication_factor: int = Field(default=1, ge=1, le=10)
    session_timeout: timedelta = timedelta(seconds=10)
    """After which silence a worker's partitions go to others."""
    heartbeat_interval: timedelta = timedelta(seconds=3)
    queue_mib: int = Field(default=64, ge=1, le=2_048)
    """What a producer may hold that the broker has not taken; full means the stage pauses."""
    linger: timedelta = timedelta(milliseconds=1)
    """Short, because the stages send in bursts of their own (see ``infra.kafka.producer.Pace``)."""
    compression: str = "lz4"
    security: SecuritySettings = SecuritySettings()
    client: dict[str, str] = Field(default={})
    """More settings of librdkafka for its clients. Who the clients are belongs into ``security``, which Faust heeds."""

    @field_validator("client")
    @classmethod
    def _leaves_security_alone(cls, client: dict[str, str]) -> dict[str, str]:
        wrong = sorted(name for name in client if name.startswith(("sasl.", "ssl.", "security.")))
        if wrong:
            raise ValueError(f"{', '.join(wrong)}: use kafka.security, which every client follows, Faust's too")
        return client
