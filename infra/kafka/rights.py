"""Who may do what, derived from ``topics.toml`` and the consumer groups.

Access rules, manifests and the check that a stage makes before it works are all made of this.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from infra.kafka.lag import SINK_GROUP
from infra.kafka.topics import TopicName, all_topics


class Operation(StrEnum):
    """As Kafka spells them. READ and WRITE include DESCRIBE."""

    READ = "READ"
    WRITE = "WRITE"
    DESCRIBE = "DESCRIBE"


class Kind(StrEnum):
    """Of resources."""

    TOPIC = "topic"
    GROUP = "group"


class Right(NamedTuple):
    """What one component may do with one resource, or with all whose names begin so."""

    kind: Kind
    name: str
    operations: frozenset[Operation]
    prefix: bool = False


COMPONENTS = ("frontier", "fetchers", "renderers", "streams", "sinks", "monitor", "cli", "keda")
"""Each has a user of its own; ``cli`` is the operator's, ``keda`` that of the autoscaler, which looks at lag."""

_READ = frozenset({Operation.READ})
_DESCRIBE = frozenset({Operation.DESCRIBE})

_STAGE_GROUPS = {stage: f"odradek-{stage}" for stage in ("frontier", "fetchers", "renderers", "streams")}


def rights(component: str) -> list[Right]:
    """What the component needs, and nothing else. Idempotent producing needs no right of its own since Kafka 3.0."""
    found = [Right(Kind.TOPIC, name.value, operations) for name, operations in _topics(component).items() if operations]
    return found + _groups(component)


def _topics(component: str) -> Mapping[TopicName, frozenset[Operation]]:
    watches = component in ("monitor", "cli", "keda")
    wanted: dict[TopicName, frozenset[Operation]] = {}
    for name, topic in all_topics().items():
        operations = set[Operation]()
        if component in topic.writers or (component == "cli" and "anyone" in topic.writers):
            operations.add(Operation.WRITE)
        # An operator explains, audits and reads dead letters; the monitor needs the ends of all topics for the lag.
        if component in topic.readers or component == "cli":
            operations.add(Operation.READ)
        if watches and not operations:
            operations.add(Operation.DESCRIBE)
        wanted[name] = frozenset(operations)
    return wanted


def _groups(component: str) -> list[Right]:
    if component == "cli":
        return [Right(Kind.GROUP, "*", _READ)]
    if component == "keda":
        return [Right(Kind.GROUP, "odradek-", _DESCRIBE, prefix=True)]
    # Followers of a topic join no group and commit nothing, but librdkafka asks for the group that they are named by.
    found = [Right(Kind.GROUP, f"{component}-", _READ, prefix=True)]
    if component in _STAGE_GROUPS:
        found.append(Right(Kind.GROUP, _STAGE_GROUPS[component], _READ))
    if component == "sinks":
        found.append(Right(Kind.GROUP, SINK_GROUP, _READ, prefix=True))
    if component == "frontier":
        # It asks whether a request was taken before it releases the URL again.
        found.append(Right(Kind.GROUP, _STAGE_GROUPS["fetchers"], _DESCRIBE))
    if component == "monitor":
        found.append(Right(Kind.GROUP, "odradek-heartbeats", _READ))
        found.append(Right(Kind.GROUP, "odradek-", _DESCRIBE, prefix=True))
    return found
