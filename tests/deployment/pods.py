"""Whether each pod is as safe and as well-behaved as the guide promises."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from infra.run import DRAIN
from infra.settings import Settings
from tests.deployment.rendered import WORKLOADS, Document, Facts, is_ours, named, of_kind, template

QUANTITY = re.compile(r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?")
"""Kubernetes' own check lets `128Mib` through."""


def check(documents: list[Document], facts: Facts) -> Iterator[str]:
    """What a pod lacks."""
    for document in of_kind(documents, *WORKLOADS):
        pod = template(document)["spec"]
        problems = [*_security(pod), *_resources(pod)]
        if is_ours(document):
            problems += _variables(pod)
        if is_ours(document) and not _waits(pod):
            problems += [*_probes(pod), *_arguments(document, facts), *_health(pod), *_guarded(document, documents)]
        for problem in problems:
            yield f"{named(document)}: {problem}"
    for document in documents:
        for path, value in _quantities(document, ""):
            if not QUANTITY.fullmatch(str(value)):
                yield f"{named(document)}: {path} is {value}, which is no quantity"


def _security(pod: Document) -> Iterator[str]:
    whole = pod.get("securityContext", {})
    if whole.get("runAsNonRoot") is not True or not whole.get("runAsUser"):
        yield "it may run as root"
    if whole.get("seccompProfile", {}).get("type") != "RuntimeDefault":
        yield "it has no seccomp profile"
    if pod.get("automountServiceAccountToken") is not False:
        yield "a token of the Kubernetes API is mounted"
    for container in pod["containers"]:
        own = container.get("securityContext", {})
        if own.get("allowPrivilegeEscalation") is not False:
            yield "it may gain privileges"
        if own.get("readOnlyRootFilesystem") is not True:
            yield "its root file system can be written"
        if own.get("capabilities", {}).get("drop") != ["ALL"]:
            yield "it keeps capabilities"
        if ":" not in container["image"] or container["image"].endswith(":latest"):
            yield f"image {container['image']} is not pinned"


def _resources(pod: Document) -> Iterator[str]:
    for container in pod["containers"]:
        resources = container.get("resources", {})
        if not {"cpu", "memory"} <= set(resources.get("requests", {})):
            yield "it does not say what it needs"
        if "memory" not in resources.get("limits", {}):
            yield "its memory has no limit"
        elif _bytes(resources["limits"]["memory"]) < _bytes(resources.get("requests", {}).get("memory", "0")):
            yield "its memory's limit is below what it asks for"
    for volume in pod.get("volumes", []):
        if "emptyDir" in volume and "sizeLimit" not in (volume["emptyDir"] or {}):
            yield f"volume {volume['name']} may fill the node's disk"


_UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "": 1}


def _bytes(quantity: str) -> float:
    found = re.fullmatch(r"([0-9.]+)(Ki|Mi|Gi|Ti|)", quantity)
    return float(found[1]) * _UNITS[found[2]] if found else 0.0


def _probes(pod: Document) -> Iterator[str]:
    wanted = {"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"}
    for container in pod["containers"]:
        ports = {each["name"] for each in container.get("ports", [])}
        for probe, path in wanted.items():
            found = container.get(probe, {}).get("httpGet", {})
            if found.get("path") != path:
                yield f"its {probe} does not ask {path}"
            elif found.get("port") not in ports:
                yield f"its {probe} asks at port {found.get('port')}, which is not open"
    if int(pod.get("terminationGracePeriodSeconds", 30)) <= DRAIN.total_seconds():
        yield f"it is killed before it has drained for {DRAIN.total_seconds():.0f} s"


def _arguments(document: Document, facts: Facts) -> Iterator[str]:
    labels = template(document)["metadata"]["labels"]
    [container] = template(document)["spec"]["containers"]
    if container["args"][:1] != ["run"] or container["args"][1] not in facts.stages:
        yield f"there is no stage to run by {' '.join(container['args'])}"
    elif container["args"][1] != labels["app.kubernetes.io/component"]:
        yield f"it is labelled {labels['app.kubernetes.io/component']} and runs {container['args'][1]}"


def _waits(pod: Document) -> bool:
    """Whether it is there to be asked things by hand, and does nothing by itself."""
    return bool(pod["containers"][0].get("command") == ["sleep", "infinity"])


def _health(pod: Document) -> Iterator[str]:
    [container] = pod["containers"]
    variables = {each["name"]: each.get("value") for each in container["env"]}
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    if str(ports.get("health")) != variables.get("ODRADEK_HEALTH_PORT"):
        yield f"it opens {ports.get('health')} for health and listens at {variables.get('ODRADEK_HEALTH_PORT')}"


def _variables(pod: Document) -> Iterator[str]:
    [container] = pod["containers"]
    variables = {each["name"]: each.get("value") for each in container["env"]}
    for name in variables:
        if name.startswith("ODRADEK_") and name != "ODRADEK_CONFIG" and not is_setting(name):
            yield f"{name} is no setting"
        if re.search(r"PASSWORD$|SECRET$|TOKEN$", name):
            yield f"{name} puts a secret into the environment: name a file"
    mounts = {each["mountPath"] for each in container["volumeMounts"]}
    for name, value in variables.items():
        if name.endswith(("_FILE", "_DIR", "_CONFIG")) and not any(str(value).startswith(each) for each in mounts):
            yield f"{name} names {value}, where nothing is mounted"


def is_setting(variable: str) -> bool:
    """Whether the environment variable sets anything."""
    fields: Any = Settings.model_fields
    path = variable.removeprefix("ODRADEK_").lower().split("__")
    for number, part in enumerate(path):
        if not isinstance(fields, Mapping) or part not in fields:
            return False
        annotation = fields[part].annotation
        fields = getattr(annotation, "model_fields", None)
        if number < len(path) - 1 and fields is None:
            return False
    return True


def _guarded(document: Document, documents: list[Document]) -> Iterator[str]:
    """Several pods that do the same may not all be evicted at once."""
    component = template(document)["metadata"]["labels"]["app.kubernetes.io/component"]
    guarded = {
        each["spec"]["selector"]["matchLabels"].get("app.kubernetes.io/component")
        for each in of_kind(documents, "PodDisruptionBudget")
    }
    if component != "monitor" and component not in guarded:
        yield "a drain of nodes may take all of its pods at once"


def _quantities(value: Any, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for name, each in value.items():
            if name in ("storage", "memory", "cpu", "sizeLimit", "size", "ephemeral-storage") and not isinstance(
                each, dict
            ):
                yield f"{path}.{name}".removeprefix("."), each
            else:
                yield from _quantities(each, f"{path}.{name}")
    elif isinstance(value, list):
        for each in value:
            yield from _quantities(each, path)
