"""Whether the compose file is valid, whole and no wider open than it says."""

from collections.abc import Iterator
from typing import Any

import jsonschema
import yaml

from infra.run import DRAIN
from tests.deployment.pods import is_setting
from tests.deployment.rendered import ROOT, Document

COMPOSE = ROOT / "k8s" / "compose"

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_MAP = {"type": "object", "additionalProperties": _TEXT}


def _closed(**properties: Any) -> Document:
    return {"type": "object", "properties": properties, "additionalProperties": False}


SERVICE = _closed(
    image=_TEXT,
    build=_closed(context=_TEXT, dockerfile=_TEXT, target=_TEXT),
    command=_TEXTS,
    environment=_MAP,
    depends_on={
        "anyOf": [
            _TEXTS,
            {
                "type": "object",
                "additionalProperties": _closed(
                    condition={"enum": ["service_started", "service_healthy", "service_completed_successfully"]}
                ),
            },
        ]
    },
    healthcheck=_closed(test=_TEXTS, interval=_TEXT, timeout=_TEXT, retries={"type": "integer"}, start_period=_TEXT),
    restart={"enum": ["no", "always", "on-failure", "unless-stopped"]},
    stop_grace_period={"type": "string", "pattern": "^[0-9]+s$"},
    read_only={"type": "boolean"},
    user=_TEXT,
    cap_drop=_TEXTS,
    security_opt=_TEXTS,
    tmpfs=_TEXTS,
    networks=_TEXTS,
    ports=_TEXTS,
    volumes=_TEXTS,
    secrets=_TEXTS,
    profiles=_TEXTS,
    mem_limit={"type": "string", "pattern": "^[0-9]+[mg]$"},
    ulimits={"type": "object"},
)
"""The fields of the compose specification that are used here: any other is most often misspelt."""

FILE = _closed(
    name=_TEXT,
    services={"type": "object", "additionalProperties": SERVICE},
    networks={"type": "object", "additionalProperties": _closed(internal={"type": "boolean"})},
    volumes={"type": "object", "additionalProperties": _closed()},
    secrets={"type": "object", "additionalProperties": _closed(environment=_TEXT, file=_TEXT)},
)


def read() -> Document:
    """The file, anchors followed, extensions left out."""
    parsed: Document = yaml.safe_load((COMPOSE / "compose.yaml").read_text())
    return {name: value for name, value in parsed.items() if not name.startswith("x-")}


def check(file: Document, targets: set[str], stages: frozenset[str]) -> Iterator[str]:
    """What is wrong with it."""
    for error in jsonschema.Draft202012Validator(FILE).iter_errors(file):
        yield f"{'.'.join(map(str, error.absolute_path))}: {error.message}"
    services = file["services"]
    for stage in sorted(stages - set(services)):
        yield f"{stage}: it is missing"
    for name, service in services.items():
        problems = [*_references(file, service), *_doors(service)]
        if service["image"].startswith("odradek/"):
            problems += [*_ours(name, service, targets, stages)]
        for problem in problems:
            yield f"{name}: {problem}"


def _references(file: Document, service: Document) -> Iterator[str]:
    for name in sorted(set(service.get("depends_on", ())) - set(file["services"])):
        yield f"it waits for {name}, which is no service"
    depends = service.get("depends_on", {})
    for name, wanted in depends.items() if isinstance(depends, dict) else ():
        if wanted["condition"] == "service_healthy" and "healthcheck" not in file["services"].get(name, {}):
            yield f"it waits for the health of {name}, which has no health check"
    for name in sorted(set(service.get("networks", ())) - set(file["networks"])):
        yield f"there is no network {name}"
    for name in sorted(set(service.get("secrets", ())) - set(file.get("secrets", ()))):
        yield f"there is no secret {name}"
    for volume in service.get("volumes", ()):
        source = volume.partition(":")[0]
        if source.startswith(".") and not (COMPOSE / source).exists():
            yield f"there is no {source}"
        if not source.startswith(".") and source not in file["volumes"]:
            yield f"there is no volume {source}"


def _doors(service: Document) -> Iterator[str]:
    for port in service.get("ports", ()):
        if not port.startswith("127.0.0.1:"):
            yield f"port {port} is open to the world"
    image = service["image"]
    if ":" not in image or image.endswith(":latest"):
        yield f"image {image} is not pinned"
    if "mem_limit" not in service and service.get("restart") not in (None, "no"):
        yield "its memory has no limit"


def _ours(name: str, service: Document, targets: set[str], stages: frozenset[str]) -> Iterator[str]:
    target = service["build"]["target"]
    if target not in targets:
        yield f"the Dockerfile has no target {target}"
    if service["image"].split(":")[0] != f"odradek/{target}":
        yield f"image {service['image']} is built as {target}"
    for variable in service.get("environment", {}):
        if variable.startswith("ODRADEK_") and not is_setting(variable):
            yield f"{variable} is no setting"
    if name not in stages:
        return
    if target != name:
        yield f"it runs {target}"
    if int(service["stop_grace_period"].rstrip("s")) <= DRAIN.total_seconds():
        yield f"it is killed before it has drained for {DRAIN.total_seconds():.0f} s"
    if not service.get("read_only") or service.get("cap_drop") != ["ALL"] or service.get("user", "0").startswith("0"):
        yield "it may do more than it has to"
