"""The manifests as the cluster would get them, and the facts of the code that they have to agree with."""

import copy
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import REGISTRY

import infra.telemetry.vocabulary
from infra.kafka.lag import GROUPS
from infra.kafka.rights import COMPONENTS
from infra.kafka.topics import all_topics
from infra.run import stage_names

ROOT = Path(__file__).resolve().parents[2]
OVERLAYS = ("dev", "prod")

Document = dict[str, Any]


@cache
def _render(overlay: str) -> str:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("needs kubectl, for its kustomize: see https://kubernetes.io/docs/tasks/tools/")
    command = [kubectl, "kustomize", str(ROOT / "k8s" / "overlays" / overlay)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def render(overlay: str) -> list[Document]:
    """Every document of an overlay, each time anew: whoever likes may change them."""
    return copy.deepcopy(_parsed(overlay))


@cache
def _parsed(overlay: str) -> list[Document]:
    return [each for each in yaml.safe_load_all(_render(overlay)) if each]


@dataclass(frozen=True)
class Facts:
    """What the code knows, by which the manifests are judged."""

    stages: frozenset[str]
    topics: frozenset[str]
    groups: dict[str, frozenset[str]]
    """What each consumer group reads."""
    users: frozenset[str]
    metrics: frozenset[str]


def facts() -> Facts:
    """Read from the code."""
    return Facts(
        stages=frozenset(stage_names()),
        topics=frozenset(topic.value for topic in all_topics()),
        groups={group: frozenset(topic.value for topic in topics) for group, topics in GROUPS.items()},
        users=frozenset(f"odradek-{component}" for component in COMPONENTS),
        metrics=frozenset(_metric_names()),
    )


def _metric_names() -> set[str]:
    import importlib  # noqa: PLC0415
    import pkgutil  # noqa: PLC0415

    for module in pkgutil.iter_modules(infra.telemetry.vocabulary.__path__):
        importlib.import_module(f"{infra.telemetry.vocabulary.__name__}.{module.name}")
    names = set(REGISTRY._names_to_collectors)
    return {name for name in names if name.startswith("odradek_")} | {"up"}


def named(document: Document) -> str:
    """Kind and name, as findings begin."""
    return f"{document['kind']}/{document['metadata']['name']}"


def of_kind(documents: list[Document], *kinds: str) -> list[Document]:
    """Those of the kinds."""
    return [each for each in documents if each["kind"] in kinds]


WORKLOADS = ("Deployment", "StatefulSet")


def template(document: Document) -> Document:
    """The pod of a workload."""
    found: Document = document["spec"]["template"]
    return found


def is_ours(document: Document) -> bool:
    """Whether the workload runs our code."""
    labels = template(document)["metadata"]["labels"]
    return bool(labels.get("app.kubernetes.io/name") == "odradek")
