"""Faust, reduced to a consumer: settings, credentials, and a record as the rest of the house knows it."""

import logging
from typing import Any

import faust

from infra.agents.credentials import credentials
from infra.kafka.clients import bootstrap_servers
from infra.kafka.inbound import Inbound
from infra.kafka.topics import TopicName
from infra.settings import Settings

COMMIT_EVERY_S = 1.0
BUFFERED_RECORDS = 256
"""Per agent, beside the batch. Pages are large: what waits in memory is bounded by this count, not by bytes."""


def make_app(settings: Settings, group: str, worker: str) -> Any:
    """A Faust app without tables, web server, signal handlers or logs of its own.

    Raises :class:`infra.errors.UserError` when the files of ``settings.kafka.security`` cannot be used.
    """
    for name in ("faust", "mode", "aiokafka"):
        # What goes wrong reaches us as a crash; they would tell it many times with tracebacks.
        logging.getLogger(name).setLevel(logging.ERROR if settings.log_level == "debug" else logging.CRITICAL)
    datadir = settings.data_dir / "faust" / f"{group}-{worker}"
    datadir.mkdir(parents=True, exist_ok=True)
    return faust.App(
        group,
        broker=[f"kafka://{each.strip()}" for each in bootstrap_servers(settings).split(",")],
        broker_credentials=credentials(settings.kafka.security),
        broker_client_id=worker,
        broker_session_timeout=settings.kafka.session_timeout.total_seconds(),
        broker_heartbeat_interval=settings.kafka.heartbeat_interval.total_seconds(),
        broker_max_poll_records=500,
        broker_commit_interval=COMMIT_EVERY_S,
        consumer_auto_offset_reset="earliest",
        consumer_max_fetch_size=16 * 2**20,
        datadir=str(datadir),
        store="memory://",
        stream_buffer_maxsize=BUFFERED_RECORDS,
        stream_wait_empty=False,
        table_standby_replicas=0,
        topic_disable_leader=True,
        web_enabled=False,
        worker_redirect_stdouts=False,
    )


def raw_topic(app: Any, topic: TopicName) -> Any:
    """The topic as bytes: a typed one would drop what it cannot decode."""
    return app.topic(
        topic.value, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw"
    )  # fmt: skip


def to_inbound(message: Any) -> Inbound:
    """Faust's message, as every other reader gives it."""
    headers = {name: value for name, value in message.headers or () if value is not None}
    timestamp_ms = int((message.timestamp or 0) * 1000)
    return Inbound(
        message.topic, message.partition, message.offset, message.key, message.value, headers, timestamp_ms
    )  # fmt: skip
