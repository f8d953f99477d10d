"""Strimzi's resources, made of ``topics.toml`` and the rights: ``python -m infra.kafka.manifests DIRECTORY``.

Nobody edits what this writes: a test fails where the files differ from what the pipeline's data say.
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from infra.kafka.rights import COMPONENTS, Kind, Right, rights
from infra.kafka.topics import TopicName, all_topics

Manifest = Mapping[str, object]

API = "kafka.strimzi.io/v1"
CLUSTER = "odradek"
USER_PREFIX = "odradek-"
PARTITIONS = 24
"""Of co-partitioned topics in a cluster: up to 24 workers of a stage, some 50 million pages a day (``sizing``)."""
COPIES = 3

_HEADER = "# Written by `make generated` from infra/kafka/topics.toml. Do not edit.\n"

_MIB = 2**20
QUOTAS: dict[str, tuple[int, int, int]] = {
    "frontier": (10, 20, 200),
    "fetchers": (60, 10, 200),
    "renderers": (30, 10, 200),
    "streams": (30, 60, 200),
    "sinks": (5, 60, 200),
    "monitor": (1, 5, 50),
    "cli": (5, 30, 50),
    "keda": (1, 1, 50),
}
"""Of each component's user at each broker: MiB written a second, MiB read a second, per cent of one request thread.

Several times what 50 million pages a day put through one of three brokers: room to catch up after a rest, and an end to
what a component that has gone wild can do to its neighbours."""


def topics(partitions: int = PARTITIONS, copies: int = COPIES) -> list[Manifest]:
    """A KafkaTopic for each."""
    return [
        {
            "apiVersion": API,
            "kind": "KafkaTopic",
            "metadata": {"name": name.value, "labels": {"strimzi.io/cluster": CLUSTER}},
            "spec": {
                "partitions": topic.partition_count(partitions),
                "replicas": copies,
                "config": topic.broker_config(partitions, copies),
            },
        }
        for name, topic in all_topics().items()
    ]


def users() -> list[Manifest]:
    """A KafkaUser for each component, with a password made by Strimzi, what it may do, and what it may use."""
    return [_user(component) for component in COMPONENTS]


def _user(component: str) -> Manifest:
    produced, consumed, percentage = QUOTAS[component]
    return {
        "apiVersion": API,
        "kind": "KafkaUser",
        "metadata": {"name": f"{USER_PREFIX}{component}", "labels": {"strimzi.io/cluster": CLUSTER}},
        "spec": {
            "authentication": {"type": "scram-sha-512"},
            "authorization": {"type": "simple", "acls": [_acl(right) for right in rights(component)]},
            "quotas": {
                "producerByteRate": produced * _MIB,
                "consumerByteRate": consumed * _MIB,
                "requestPercentage": percentage,
            },
        },
    }


def _acl(right: Right) -> Manifest:
    pattern = "prefix" if right.prefix else "literal"
    return {
        "resource": {
            "type": "topic" if right.kind is Kind.TOPIC else "group",
            "name": right.name,
            "patternType": pattern,
        },
        "operations": [operation.value.capitalize() for operation in sorted(right.operations)],
        "host": "*",
    }


def to_yaml(documents: Iterable[Manifest]) -> str:
    """The documents as YAML 1.2, of which JSON's scalars are a part."""
    return _HEADER + "".join(f"---\n{_block(document, 0)}" for document in documents)


_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def _block(value: object, depth: int) -> str:
    pad = "  " * depth
    if isinstance(value, Mapping):
        return "".join(f"{pad}{key}:{_inline(each, depth + 1)}" for key, each in value.items())
    if isinstance(value, list):
        items = [_block(each, depth + 1) if isinstance(each, Mapping) else f"{_scalar(each)}\n" for each in value]
        return "".join(f"{pad}- {item.removeprefix('  ' * (depth + 1))}" for item in items)
    return f"{pad}{_scalar(value)}\n"


def _inline(value: object, depth: int) -> str:
    if isinstance(value, Mapping | list) and value:
        return f"\n{_block(value, depth)}"
    return f" {_scalar(value)}\n"


def _scalar(value: object) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value)


def write(directory: Path) -> None:
    """Write ``topics.yaml`` and ``users.yaml``."""
    (directory / "topics.yaml").write_text(to_yaml(topics()))
    (directory / "users.yaml").write_text(to_yaml(users()))


assert set(QUOTAS) == set(COMPONENTS)
assert set(all_topics()) == set(TopicName)

if __name__ == "__main__":
    write(Path(sys.argv[1]))
