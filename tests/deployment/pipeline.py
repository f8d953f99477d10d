"""Whether topics, groups, users, partitions, metrics and networks in the manifests are those of the code."""

import ipaddress
import re
import tomllib
from collections.abc import Iterator

from tests.deployment.rendered import WORKLOADS, Document, Facts, is_ours, named, of_kind, template

KAFKA_TRIGGER = frozenset(
    [
        "bootstrapServers",
        "consumerGroup",
        "topic",
        "partitionLimitation",
        "lagThreshold",
        "activationLagThreshold",
        "offsetResetPolicy",
        "allowIdleConsumers",
        "excludePersistentLag",
        "scaleToZeroOnInvalidOffset",
        "limitToPartitionsWithLag",
        "ensureEvenDistributionOfPartitions",
        "fullMetadata",
        "version",
        "tls",
        "unsafeSsl",
        "sasl",
        "saslTokenProvider",
        "awsRegion",
    ]
)
"""What KEDA 2.21 reads of a trigger of this type; it ignores anything else, and takes the default instead."""
KAFKA_LOGIN = frozenset(
    [
        "sasl",
        "tls",
        "username",
        "password",
        "ca",
        "cert",
        "key",
        "keyPassword",
        "scopes",
        "oauthTokenEndpointUri",
        "oauthExtensions",
    ]
)
COMPONENT = "app.kubernetes.io/component"
CPU_TRIGGER = frozenset({"type", "value", "containerName"})


def check(documents: list[Document], facts: Facts) -> Iterator[str]:
    """Where the manifests know another pipeline than the code."""
    settings = _settings(documents)
    partitions = int(settings["kafka"]["partitions"])
    yield from _topics(documents, facts, partitions)
    yield from _users(documents, facts)
    yield from _scalers(documents, facts, partitions)
    yield from _brokers(documents)
    yield from _metrics(documents, facts)
    yield from _networks(documents)


def _settings(documents: list[Document]) -> Document:
    [found] = [each for each in of_kind(documents, "ConfigMap") if "odradek.toml" in each["data"]]
    return tomllib.loads(found["data"]["odradek.toml"])


def _topics(documents: list[Document], facts: Facts, partitions: int) -> Iterator[str]:
    topics = {each["metadata"]["name"]: each["spec"] for each in of_kind(documents, "KafkaTopic")}
    for name in sorted(facts.topics - set(topics)):
        yield f"KafkaTopic/{name}: it is missing"
    for name in sorted(set(topics) - facts.topics):
        yield f"KafkaTopic/{name}: the pipeline has no such topic"
    nodes = sum(each["spec"]["replicas"] for each in of_kind(documents, "KafkaNodePool"))
    for name, spec in topics.items():
        if spec["partitions"] not in (1, partitions):
            yield f"KafkaTopic/{name}: it has {spec['partitions']} partitions, and kafka.partitions is {partitions}"
        if spec["replicas"] > nodes:
            yield f"KafkaTopic/{name}: it wants {spec['replicas']} copies of {nodes} brokers"
        if int(spec["config"]["min.insync.replicas"]) >= max(spec["replicas"], 2):
            yield f"KafkaTopic/{name}: no broker may be away"


def _users(documents: list[Document], facts: Facts) -> Iterator[str]:
    users = {each["metadata"]["name"] for each in of_kind(documents, "KafkaUser")}
    for name in sorted(facts.users - users):
        yield f"KafkaUser/{name}: it is missing"
    for document in of_kind(documents, *WORKLOADS):
        if not is_ours(document):
            continue
        component = template(document)["metadata"]["labels"]["app.kubernetes.io/component"]
        variables = {each["name"]: each.get("value") for each in template(document)["spec"]["containers"][0]["env"]}
        if variables.get("ODRADEK_KAFKA__SECURITY__USERNAME") != f"odradek-{component}":
            yield f"{named(document)}: it is not its own user of Kafka"


def _scalers(documents: list[Document], facts: Facts, partitions: int) -> Iterator[str]:
    addresses = _addresses(documents)
    for document in of_kind(documents, "ScaledObject"):
        spec = document["spec"]
        if spec.get("maxReplicaCount", 100) > partitions:
            yield f"{named(document)}: more than {partitions} would have no partition"
        if spec.get("minReplicaCount", 0) > spec.get("maxReplicaCount", 100):
            yield f"{named(document)}: its bounds are the wrong way round"
        kinds = [trigger["type"] for trigger in spec["triggers"]]
        if "cpu" in kinds and spec.get("minReplicaCount", 0) == 0:
            yield f"{named(document)}: CPU cannot wake what is at zero"
        for trigger in spec["triggers"]:
            for problem in _trigger(trigger, facts, addresses):
                yield f"{named(document)}: {problem}"
    for document in of_kind(documents, "TriggerAuthentication"):
        references = [*document["spec"].get("configMapTargetRef", []), *document["spec"].get("secretTargetRef", [])]
        for each in references:
            if each["parameter"] not in KAFKA_LOGIN:
                yield f"{named(document)}: {each['parameter']} is nothing that the Kafka trigger reads"


def _trigger(trigger: Document, facts: Facts, addresses: set[str]) -> Iterator[str]:
    metadata = trigger["metadata"]
    known = {"kafka": KAFKA_TRIGGER, "cpu": CPU_TRIGGER}.get(trigger["type"])
    if known is None:
        yield f"there is no trigger {trigger['type']}"
        return
    for name in sorted(set(metadata) - known):
        yield f"{name} is nothing that the {trigger['type']} trigger reads"
    if trigger["type"] == "cpu":
        if not 0 < int(metadata["value"]) <= 100:
            yield f"{metadata['value']} per cent of CPU"
        return
    group, topic = metadata["consumerGroup"], metadata["topic"]
    if group not in facts.groups:
        yield f"no consumer group is called {group}"
    elif topic not in facts.groups[group]:
        yield f"group {group} does not read {topic}"
    if metadata.get("offsetResetPolicy") != "earliest":
        yield "a group that never committed would show no lag"
    if not metadata.get("lagThreshold", "").isdigit():
        yield "lagThreshold is no number"
    if metadata["bootstrapServers"] not in addresses:
        yield f"no broker listens at {metadata['bootstrapServers']}"


def _addresses(documents: list[Document]) -> set[str]:
    return {
        f"{each['metadata']['name']}-kafka-bootstrap:{listener['port']}"
        for each in of_kind(documents, "Kafka")
        for listener in each["spec"]["kafka"]["listeners"]
    }


def _brokers(documents: list[Document]) -> Iterator[str]:
    addresses = _addresses(documents)
    for document in of_kind(documents, *WORKLOADS):
        if not is_ours(document):
            continue
        for variable in template(document)["spec"]["containers"][0]["env"]:
            if variable["name"] == "KAFKA_BOOTSTRAP_SERVERS" and variable["value"] not in addresses:
                yield f"{named(document)}: no broker listens at {variable['value']}"
    nodes = sum(each["spec"]["replicas"] for each in of_kind(documents, "KafkaNodePool"))
    for document in of_kind(documents, "Kafka"):
        for problem in _broker(document["spec"]["kafka"], nodes):
            yield f"{named(document)}: {problem}"


def _broker(spec: Document, nodes: int) -> Iterator[str]:
    if spec["config"].get("auto.create.topics.enable") is not False:
        yield "a misspelt topic would be made"
    for name, value in spec["config"].items():
        if name.endswith("replication.factor") and value > nodes:
            yield f"{name} is {value}, and there are {nodes} brokers"
    for listener in spec["listeners"]:
        if not listener["tls"] or "authentication" not in listener:
            yield f"listener {listener['name']} lets in whoever comes"


def _metrics(documents: list[Document], facts: Facts) -> Iterator[str]:
    for document in of_kind(documents, "PrometheusRule"):
        for group in document["spec"]["groups"]:
            for rule in group["rules"]:
                said = rule.get("alert") or rule["record"]
                for name in re.findall(r"\b(odradek_[a-z_]+)", re.sub(r"\"[^\"]*\"", "", rule["expr"])):
                    base = re.sub(r"_(bucket|sum|count)$", "", name)
                    if name not in facts.metrics and base not in facts.metrics:
                        yield f"{named(document)}: {said} reads {name}, which nobody measures"


_NEVER = [
    ipaddress.ip_network(each)
    for each in (
        *("10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "127.0.0.1", "100.64.0.1", "168.63.129.16"),
        *("fd00::1", "fe80::1", "::1", "64:ff9b::a00:1", "2002:a00:1::"),
    )
]


def _networks(documents: list[Document]) -> Iterator[str]:
    policies = of_kind(documents, "NetworkPolicy")
    closed = [each for each in policies if not each["spec"].get("ingress") and not each["spec"].get("egress")]
    for direction in ("Ingress", "Egress"):
        if not any(direction in each["spec"]["policyTypes"] for each in closed):
            yield f"NetworkPolicy: without one that lets nothing through, {direction} is open"
    for document in policies:
        chosen = _components(document["spec"]["podSelector"])
        blocks = [
            peer["ipBlock"]
            for rule in document["spec"].get("egress", [])
            for peer in rule.get("to") or [{"ipBlock": {"cidr": "0.0.0.0/0"}}]
            if "ipBlock" in peer
        ]
        if blocks and not (chosen and chosen <= {"fetchers", "renderers"}):
            yield f"{named(document)}: only fetchers go to the web"
        for private in _NEVER:
            if any(_lets(block, private) for block in blocks):
                yield f"{named(document)}: it lets out to {private.network_address}"


def _components(selector: Document) -> set[str]:
    """Which it names; empty for all."""
    named_one = selector.get("matchLabels", {}).get(COMPONENT)
    several = [each["values"] for each in selector.get("matchExpressions", []) if each["key"] == COMPONENT]
    return {named_one} if named_one else {value for values in several for value in values}


def _lets(block: Document, address: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    def holds(network: str) -> bool:
        parsed = ipaddress.ip_network(network)
        return parsed.version == address.version and address.subnet_of(parsed)  # type: ignore[arg-type]

    return holds(block["cidr"]) and not any(holds(each) for each in block.get("except", []))
