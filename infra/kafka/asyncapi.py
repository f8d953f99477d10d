"""The pipeline's topics for others: an AsyncAPI 3.0 document made from ``topics.toml`` and the contracts.

``python -m infra.kafka.asyncapi`` prints it; the repository keeps it as ``docs/asyncapi.json``. It holds the contracts
whole, with every version that was ever written: who has this one file can read every topic.
"""

import json
import sys
from importlib.metadata import version
from typing import Any

from infra.kafka.clients import PARTITIONER
from infra.kafka.topics import Topic, TopicName, all_topics
from infra.settings import KafkaSettings
from schemas.compatibility import released
from schemas.wire import contract_text

AVRO = "application/vnd.apache.avro+json;version=1.9.0"
"""The newest name of Avro that AsyncAPI 3.0 knows."""

_PREAMBLE = """A distributed web crawler as a pipeline of Kafka topics.

Values are Avro single-object encoding (Avro specification 1.12): C3 01, the little-endian CRC-64-AVRO fingerprint of \
the writer's schema, the body. Where a deployment names a schema registry they may also be in Confluent's framing: 00, \
the big-endian id of the schema in the registry, the body; the first byte tells. A reader keeps every version of a \
message (payload, x-released) by its fingerprint and lets Avro's schema resolution turn old records into the version \
it was made for. Every version can read every other."""


def document() -> dict[str, Any]:
    """The whole document, in the order of the topics file."""
    topics = all_topics()
    names = dict.fromkeys(name for topic in topics.values() for name in topic.records)
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Odradek",
            "version": version("odradek"),
            "description": _PREAMBLE,
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/octet-stream",
        "channels": {name.value: _channel(name, topic) for name, topic in topics.items()},
        "operations": {
            f"{who}.{action}.{name}": {
                "action": action,
                "channel": {"$ref": f"#/channels/{name}"},
                "summary": f"{who} {'write to' if action == 'send' else 'read from'} {name}",
            }
            for name, topic in topics.items()
            for action, people in (("send", topic.writers), ("receive", topic.readers))
            for who in people
        },
        "components": {"messages": {name: _message(name) for name in names}},
    }


def _channel(name: TopicName, topic: Topic) -> dict[str, Any]:
    defaults = KafkaSettings()
    shared = defaults.partitions
    return {
        "address": name.value,
        "description": f"{topic.note} Keyed by {topic.key} ({PARTITIONER}).",
        "messages": {each: {"$ref": f"#/components/messages/{each}"} for each in topic.records},
        "bindings": {
            "kafka": {
                "topic": name.value,
                "partitions": topic.partition_count(shared),
                "replicas": defaults.replication_factor,
                "topicConfiguration": _configuration(topic),
                "bindingVersion": "0.5.0",
            }
        },
        "x-partitions-setting": "kafka.partitions" if topic.partitions == "shared" else None,
    }


def _configuration(topic: Topic) -> dict[str, Any]:
    wanted: dict[str, Any] = {"cleanup.policy": [topic.cleanup], "max.message.bytes": topic.max_record_bytes}
    if topic.retention is not None:
        wanted["retention.ms"] = int(topic.retention.total_seconds() * 1000)
    return wanted


def _message(name: str) -> dict[str, Any]:
    schema = json.loads(contract_text(name))
    return {
        "name": name,
        "title": schema["name"],
        "summary": schema["doc"],
        "contentType": "avro/binary",
        "headers": {
            "type": "object",
            "properties": {"traceparent": {"type": "string", "description": "W3C trace context of the URL's visit."}},
        },
        "payload": {"schemaFormat": AVRO, "schema": schema},
        "x-released": {file.split(".")[1]: json.loads(text) for file, text in sorted(released(name).items())},
    }


def rendered() -> str:
    """The text of the file."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(rendered())
