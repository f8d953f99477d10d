"""Whether what a document names is there: labels that a selector wants, ports, settings, secrets, workloads."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.deployment.rendered import WORKLOADS, Document, Facts, named, of_kind, template

MADE_ELSEWHERE = {"odradek-clickhouse", "odradek-monitor", "odradek-cluster-ca-cert"}
"""Secrets: of the operator who deploys, and of Strimzi. Those of Kafka's users have the users' names."""


def check(documents: list[Document], facts: Facts) -> Iterator[str]:
    """What is named and not there."""
    pods = [template(each) for each in of_kind(documents, *WORKLOADS)]
    labels = [pod["metadata"]["labels"] for pod in pods]
    yield from _selectors(documents, labels)
    yield from _scraped(documents)
    yield from _ports(documents, pods)
    yield from _volumes(documents, facts)
    yield from _targets(documents)
    yield from _names(documents)
    yield from _namespaces(documents)


def _matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    wanted = selector.get("matchLabels", {})
    chosen = all(
        labels.get(each["key"]) in each["values"]
        for each in selector.get("matchExpressions", [])
        if each["operator"] == "In"
    )
    return chosen and all(labels.get(name) == value for name, value in wanted.items())


def _selectors(documents: list[Document], labels: list[Mapping[str, str]]) -> Iterator[str]:
    for document in of_kind(documents, *WORKLOADS):
        own = template(document)["metadata"]["labels"]
        if not _matches(document["spec"]["selector"], own):
            yield f"{named(document)}: its selector does not match its own pods"
        spreads = template(document)["spec"].get("topologySpreadConstraints", [])
        if not all(_matches(spread["labelSelector"], own) for spread in spreads):
            yield f"{named(document)}: it spreads other pods than its own"
    for document in of_kind(documents, "Service", "PodDisruptionBudget", "NetworkPolicy"):
        if not any(_matches(_selector(document), each) for each in labels):
            yield f"{named(document)}: its selector matches no pod"


def _selector(document: Document) -> Mapping[str, Any]:
    spec = document["spec"]
    match document["kind"]:
        case "Service":
            return {"matchLabels": spec["selector"]}
        case "NetworkPolicy":
            found: Mapping[str, Any] = spec["podSelector"]
        case _:
            found = spec["selector"]
    return found


def _scraped(documents: list[Document]) -> Iterator[str]:
    services = of_kind(documents, "Service")
    for document in of_kind(documents, "ServiceMonitor"):
        found = [each for each in services if _matches(document["spec"]["selector"], each["metadata"]["labels"])]
        if not found:
            yield f"{named(document)}: its selector matches no service"
            continue
        ports = {port["name"] for each in found for port in each["spec"]["ports"]}
        for endpoint in document["spec"]["endpoints"]:
            if endpoint["port"] not in ports:
                yield f"{named(document)}: no service has a port called {endpoint['port']}"


def _ports(documents: list[Document], pods: list[Document]) -> Iterator[str]:
    for document in of_kind(documents, "Service"):
        selector = {"matchLabels": document["spec"]["selector"]}
        chosen = [pod for pod in pods if _matches(selector, pod["metadata"]["labels"])]
        for port in document["spec"]["ports"]:
            for pod in chosen:
                if port["targetPort"] not in _open(pod):
                    yield f"{named(document)}: a pod that it selects has no port {port['targetPort']}"
    for document in of_kind(documents, "NetworkPolicy"):
        chosen = [pod for pod in pods if _matches(document["spec"]["podSelector"], pod["metadata"]["labels"])]
        opened = {port for pod in chosen for port in _open(pod)}
        for rule in document["spec"].get("ingress", []):
            for port in rule.get("ports", []):
                if port["port"] not in opened:
                    yield f"{named(document)}: it lets in to port {port['port']}, where nobody listens"


def _open(pod: Document) -> set[object]:
    return {
        value
        for container in pod["spec"]["containers"]
        for port in container.get("ports", [])
        for value in (port["name"], port["containerPort"])
    }


def _volumes(documents: list[Document], facts: Facts) -> Iterator[str]:
    maps = {each["metadata"]["name"] for each in of_kind(documents, "ConfigMap")}
    secrets = MADE_ELSEWHERE | facts.users
    for document in of_kind(documents, *WORKLOADS):
        spec = template(document)["spec"]
        volumes = spec.get("volumes", [])
        known = {each["name"] for each in volumes}
        known |= {each["metadata"]["name"] for each in document["spec"].get("volumeClaimTemplates", [])}
        mounted = {mount["name"] for each in spec["containers"] for mount in each.get("volumeMounts", [])}
        for name in sorted(mounted - known):
            yield f"{named(document)}: it mounts {name}, which is no volume of it"
        for name in sorted({each["configMap"]["name"] for each in volumes if "configMap" in each} - maps):
            yield f"{named(document)}: there is no config map {name}"
        wanted = {name for each in volumes for name in _secrets_of(each)} | _secrets_read(spec)
        for name in sorted(wanted - secrets):
            yield f"{named(document)}: secret {name} is made by nobody"


def _secrets_read(spec: Document) -> set[str]:
    sources = [each.get("valueFrom", {}) for container in spec["containers"] for each in container.get("env", [])]
    return {source["secretKeyRef"]["name"] for source in sources if "secretKeyRef" in source}


def _secrets_of(volume: Document) -> list[str]:
    found = [volume["secret"]["secretName"]] if "secret" in volume else []
    return found + [
        each["secret"]["name"] for each in volume.get("projected", {}).get("sources", []) if "secret" in each
    ]


def _targets(documents: list[Document]) -> Iterator[str]:
    workloads = {each["metadata"]["name"]: each for each in of_kind(documents, *WORKLOADS)}
    logins = {each["metadata"]["name"] for each in of_kind(documents, "TriggerAuthentication")}
    for document in of_kind(documents, "ScaledObject"):
        target = workloads.get(document["spec"]["scaleTargetRef"]["name"])
        if target is None:
            yield f"{named(document)}: there is no workload {document['spec']['scaleTargetRef']['name']}"
        elif "replicas" in target["spec"]:
            yield f"{named(document)}: {named(target)} has a number of replicas of its own"
        for trigger in document["spec"]["triggers"]:
            login = trigger.get("authenticationRef", {}).get("name")
            if login is not None and login not in logins:
                yield f"{named(document)}: there is no trigger authentication {login}"


def _names(documents: list[Document]) -> Iterator[str]:
    accounts = {each["metadata"]["name"] for each in of_kind(documents, "ServiceAccount")}
    priorities = {each["metadata"]["name"] for each in of_kind(documents, "PriorityClass")}
    for document in of_kind(documents, *WORKLOADS):
        spec = template(document)["spec"]
        if "serviceAccountName" in spec and spec["serviceAccountName"] not in accounts:
            yield f"{named(document)}: there is no service account {spec['serviceAccountName']}"
        if "priorityClassName" in spec and spec["priorityClassName"] not in priorities:
            yield f"{named(document)}: there is no priority class {spec['priorityClassName']}"


def _namespaces(documents: list[Document]) -> Iterator[str]:
    [namespace] = [each["metadata"]["name"] for each in of_kind(documents, "Namespace")]
    for document in documents:
        if (
            document["kind"] not in ("Namespace", "PriorityClass")
            and document["metadata"].get("namespace") != namespace
        ):
            yield f"{named(document)}: it is not in namespace {namespace}"
