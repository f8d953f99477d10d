"""Mistakes that people make in manifests, planted one by one: each is found, and told where it is."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.deployment.rendered import Document, named, render
from tests.deployment.test_manifests import findings

Plant = Callable[[dict[str, Any]], None]


def spec(document: Document) -> Document:
    """The pod of a workload."""
    found: Document = document["spec"]["template"]["spec"]
    return found


def container(document: Document) -> Document:
    """Its one container."""
    found: Document = spec(document)["containers"][0]
    return found


def variable(document: Document, name: str) -> Document:
    """One of its environment variables."""
    [found] = [each for each in container(document)["env"] if each["name"] == name]
    chosen: Document = found
    return chosen


def volume(document: Document, name: str) -> Document:
    """One of its volumes."""
    [found] = [each for each in spec(document)["volumes"] if each["name"] == name]
    chosen: Document = found
    return chosen


def trigger(document: Document) -> dict[str, Any]:
    """The metadata of its first trigger."""
    found: dict[str, Any] = document["spec"]["triggers"][0]["metadata"]
    return found


def rename(document: dict[str, Any], old: str, new: str) -> None:
    """A misspelt key."""
    document[new] = document.pop(old)


FETCHERS = "Deployment/fetchers"
SCALER = "ScaledObject/fetchers"

MISTAKES: dict[str, tuple[str, Plant, str]] = {
    "a misspelt field": (FETCHERS, lambda d: rename(spec(d), "priorityClassName", "priorityClass"), "priorityClass"),
    "a number as text": (FETCHERS, lambda d: spec(d).update(terminationGracePeriodSeconds="35"), "is not of type"),
    "a kind of an old version": (
        "PodDisruptionBudget/fetchers",
        lambda d: d.update(apiVersion="policy/v1beta1"),
        "has no policy/v1beta1",
    ),
    "a unit that is none": (
        FETCHERS,
        lambda d: container(d)["resources"]["limits"].update(memory="768Mib"),
        "which is no quantity",
    ),
    "a disk of no size": (
        "KafkaNodePool/nodes",
        lambda d: d["spec"]["storage"]["volumes"][0].update(size="1000GiB"),
        "which is no quantity",
    ),
    "less than it asks for": (
        FETCHERS,
        lambda d: container(d)["resources"]["limits"].update(memory="64Mi"),
        "below what it asks for",
    ),
    "no limit on memory": (FETCHERS, lambda d: container(d)["resources"].pop("limits"), "its memory has no limit"),
    "root": (FETCHERS, lambda d: spec(d)["securityContext"].pop("runAsNonRoot"), "may run as root"),
    "a root file system that can be written": (
        FETCHERS,
        lambda d: container(d)["securityContext"].update(readOnlyRootFilesystem=False),
        "can be written",
    ),
    "capabilities": (
        FETCHERS,
        lambda d: container(d)["securityContext"]["capabilities"].update(drop=["NET_RAW"]),
        "keeps capabilities",
    ),
    "a token": (FETCHERS, lambda d: spec(d).pop("automountServiceAccountToken"), "token of the Kubernetes API"),
    "an image that moves": (FETCHERS, lambda d: container(d).update(image="odradek/fetchers:latest"), "not pinned"),
    "a disk without an end": (
        FETCHERS,
        lambda d: spec(d)["volumes"].append({"name": "x", "emptyDir": {}}),
        "may fill the node's disk",
    ),
    "killed while it drains": (
        FETCHERS,
        lambda d: spec(d).update(terminationGracePeriodSeconds=20),
        "before it has drained",
    ),
    "liveness by readiness": (
        FETCHERS,
        lambda d: container(d)["livenessProbe"]["httpGet"].update(path="/readyz"),
        "does not ask /livez",
    ),
    "a probe at a closed port": (
        FETCHERS,
        lambda d: container(d)["readinessProbe"]["httpGet"].update(port="http"),
        "which is not open",
    ),
    "a stage that is none": (FETCHERS, lambda d: container(d).update(args=["run", "fetcher"]), "no stage to run"),
    "another stage": (FETCHERS, lambda d: container(d).update(args=["run", "streams"]), "and runs streams"),
    "a setting that is none": (
        FETCHERS,
        lambda d: rename_variable(d, "ODRADEK_HEALTH_PORT", "ODRADEK_PORT"),
        "ODRADEK_PORT is no setting",
    ),
    "a nested setting that is none": (
        FETCHERS,
        lambda d: rename_variable(d, "ODRADEK_KAFKA__SECURITY__CA_FILE", "ODRADEK_KAFKA__SECURITY__CAFILE"),
        "is no setting",
    ),
    "health at another port": (
        FETCHERS,
        lambda d: variable(d, "ODRADEK_HEALTH_PORT").update(value="9090"),
        "listens at 9090",
    ),
    "a secret that is not mounted": (
        FETCHERS,
        lambda d: variable(d, "ODRADEK_KAFKA__SECURITY__PASSWORD_FILE").update(value="/etc/pw"),
        "where nothing is mounted",
    ),
    "another's user": (
        FETCHERS,
        lambda d: variable(d, "ODRADEK_KAFKA__SECURITY__USERNAME").update(value="odradek-sinks"),
        "not its own user",
    ),
    "another broker": (
        FETCHERS,
        lambda d: variable(d, "KAFKA_BOOTSTRAP_SERVERS").update(value="kafka:9092"),
        "no broker listens at kafka:9092",
    ),
    "a secret of nobody": (
        "StatefulSet/frontier",
        lambda d: volume(d, "kafka")["projected"]["sources"][0]["secret"].update(name="odradek-master"),
        "made by nobody",
    ),
    "a settings file of nobody": (
        FETCHERS,
        lambda d: volume(d, "settings")["configMap"].update(name="settings"),
        "no config map",
    ),
    "a mount of nothing": (
        FETCHERS,
        lambda d: container(d)["volumeMounts"][0].update(name="config"),
        "no volume of it",
    ),
    "a selector of others": (
        FETCHERS,
        lambda d: d["spec"]["selector"]["matchLabels"].update({"app.kubernetes.io/component": "fetcher"}),
        "does not match its own pods",
    ),
    "a service of nobody": (
        "Service/monitor",
        lambda d: d["spec"]["selector"].update({"app.kubernetes.io/component": "web"}),
        "matches no pod",
    ),
    "a service at a closed port": (
        "Service/monitor",
        lambda d: d["spec"]["ports"][0].update(targetPort="http"),
        "has no port http",
    ),
    "a policy of nobody": (
        "NetworkPolicy/web",
        lambda d: d["spec"]["podSelector"]["matchLabels"].update({"app.kubernetes.io/component": "fetcher"}),
        "matches no pod",
    ),
    "a budget of nobody": (
        "PodDisruptionBudget/fetchers",
        lambda d: d["spec"]["selector"]["matchLabels"].update({"app.kubernetes.io/component": "worker"}),
        "take all of its pods",
    ),
    "a way to the metadata": (
        "NetworkPolicy/web",
        lambda d: d["spec"]["egress"][0]["to"][0]["ipBlock"]["except"].remove("169.254.0.0/16"),
        "lets out to 169.254.169.254",
    ),
    "a door in that leads nowhere": (
        "NetworkPolicy/health",
        lambda d: d["spec"]["ingress"][0]["ports"][0].update(port=8000),
        "where nobody listens",
    ),
    "an open network": ("NetworkPolicy/nothing", lambda d: d["spec"].update(policyTypes=["Ingress"]), "Egress is open"),
    "another namespace": (
        "ServiceMonitor/odradek",
        lambda d: d["metadata"].update(namespace="monitoring"),
        "not in namespace odradek",
    ),
    "no service to scrape": (
        "ServiceMonitor/odradek",
        lambda d: d["spec"]["selector"]["matchLabels"].update({"app.kubernetes.io/component": "metric"}),
        "matches no service",
    ),
    "a port that is not scraped": (
        "ServiceMonitor/odradek",
        lambda d: d["spec"]["endpoints"][0].update(port="metrics"),
        "no service has a port called metrics",
    ),
    "a trigger's misspelt key": (
        SCALER,
        lambda d: rename(trigger(d), "lagThreshold", "lagTreshold"),
        "lagTreshold is nothing that the kafka trigger reads",
    ),
    "a trigger's other topic": (SCALER, lambda d: trigger(d).update(topic="url"), "does not read url"),
    "a trigger's other group": (
        SCALER,
        lambda d: trigger(d).update(consumerGroup="fetchers"),
        "no consumer group is called fetchers",
    ),
    "lag of a group that never committed": (SCALER, lambda d: trigger(d).pop("offsetResetPolicy"), "would show no lag"),
    "a trigger that is none": (
        SCALER,
        lambda d: d["spec"]["triggers"][0].update(type="kafka-lag"),
        "there is no trigger kafka-lag",
    ),
    "CPU that wakes nobody": (SCALER, lambda d: d["spec"].update(minReplicaCount=0), "CPU cannot wake"),
    "more workers than partitions": (SCALER, lambda d: d["spec"].update(maxReplicaCount=40), "would have no partition"),
    "a scaler of nobody": (SCALER, lambda d: d["spec"]["scaleTargetRef"].update(name="fetcher"), "no workload fetcher"),
    "a scaler that is fought": (FETCHERS, lambda d: d["spec"].update(replicas=3), "replicas of its own"),
    "a login of nobody": (
        SCALER,
        lambda d: d["spec"]["triggers"][0]["authenticationRef"].update(name="kafka"),
        "no trigger authentication kafka",
    ),
    "a login's misspelt part": (
        "TriggerAuthentication/odradek-kafka",
        lambda d: d["spec"]["secretTargetRef"][0].update(parameter="passwd"),
        "passwd is nothing",
    ),
    "a topic of nobody": (
        "KafkaTopic/urls",
        lambda d: d["metadata"].update(name="requests"),
        "the pipeline has no such topic",
    ),
    "partitions that differ": ("KafkaTopic/urls", lambda d: d["spec"].update(partitions=12), "it has 12 partitions"),
    "copies that must all be there": (
        "KafkaTopic/urls",
        lambda d: d["spec"]["config"].update({"min.insync.replicas": "3"}),
        "no broker may be away",
    ),
    "a right that is none": (
        "KafkaUser/odradek-sinks",
        lambda d: d["spec"]["authorization"]["acls"][0].update(operations=["Consume"]),
        "is not one of",
    ),
    "a listener for everybody": (
        "Kafka/odradek",
        lambda d: d["spec"]["kafka"]["listeners"][0].pop("authentication"),
        "lets in whoever comes",
    ),
    "topics by accident": (
        "Kafka/odradek",
        lambda d: d["spec"]["kafka"]["config"].pop("auto.create.topics.enable"),
        "misspelt topic",
    ),
    "an alert on nothing": (
        "PrometheusRule/odradek",
        lambda d: d["spec"]["groups"][0]["rules"][0].update(expr="rate(odradek_fetch_total[5m]) > 1"),
        "nobody measures",
    ),
}


def rename_variable(document: Document, old: str, new: str) -> None:
    """A misspelt name of an environment variable."""
    variable(document, old)["name"] = new


@pytest.mark.parametrize("mistake", sorted(MISTAKES))
def test_a_planted_mistake_is_found(mistake: str) -> None:
    """What was right is wrong after the change, and the finding says what it is."""
    where, plant, told = MISTAKES[mistake]
    documents = render("prod")
    [document] = [each for each in documents if named(each) == where]
    plant(document)
    found = findings(documents)
    assert any(told in each for each in found), found
