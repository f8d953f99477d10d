"""What is deployed is valid, whole, safe, and the pipeline that the code knows. `make check-deploy` runs these."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.kafka.manifests import PARTITIONS, to_yaml, topics, users
from infra.settings import load
from monitor.prometheus.manifest import manifest
from tests.deployment import pipeline, pods, references, shapes
from tests.deployment.rendered import OVERLAYS, ROOT, Document, facts, of_kind, render


def findings(documents: list[Document]) -> list[str]:
    """Everything that is wrong with them."""
    known = facts()
    return [
        *shapes.check(documents),
        *references.check(documents, known),
        *pods.check(documents, known),
        *pipeline.check(documents, known),
    ]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_is_right(overlay: str) -> None:
    """Schemas, references, pods and pipeline: nothing is found."""
    assert findings(render(overlay)) == []


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_has_every_stage(overlay: str) -> None:
    """Each stage and the monitor run."""
    running = {each["metadata"]["name"] for each in of_kind(render(overlay), "Deployment", "StatefulSet")}
    assert running >= facts().stages


@pytest.mark.parametrize("file", ["topics.yaml", "users.yaml"])
def test_what_is_generated_is_current(file: str) -> None:
    """The files are what the pipeline's data say: else run `make generated`."""
    expected = to_yaml(topics() if file == "topics.yaml" else users())
    assert (ROOT / "k8s" / "components" / "strimzi" / file).read_text() == expected


def test_the_alerts_are_the_monitors() -> None:
    """The cluster's rules are those that the monitor's own tests have proved: else run `make generated`."""
    assert (ROOT / "k8s" / "components" / "monitoring" / "rules.yaml").read_text() == manifest()


def test_the_yaml_reads_as_it_was_meant() -> None:
    """What we write without a library is what a library reads: also words that YAML takes for something else."""
    tricky: list[dict[str, Any]] = [
        {"a": {"b": [], "c": ["x", {"d": 1, "e": ["*", "yes"]}], "f": {}}, "g": "12", "h": "a: b", "i": True, "j": "on"}
    ]
    assert list(yaml.safe_load_all(to_yaml(tricky))) == tricky
    assert list(yaml.safe_load_all(to_yaml(users()))) == users()
    assert list(yaml.safe_load_all(to_yaml(topics()))) == topics()


@pytest.mark.parametrize("path", sorted((ROOT / "k8s").glob("*/**/odradek.toml")), ids=lambda path: path.parent.name)
def test_settings_files_are_valid(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each settings file of the manifests is one that a stage starts with, and its partitions are the topics'."""
    monkeypatch.setenv("ODRADEK_CONFIG", str(path))
    settings = load()
    assert settings.kafka.partitions == PARTITIONS


def test_alerts_are_ones_that_prometheus_takes(tmp_path: Path) -> None:
    """`promtool` accepts every rule of the cluster's monitoring."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("needs promtool: apt-get install prometheus")
    [rules] = of_kind(render("prod"), "PrometheusRule")
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": rules["spec"]["groups"]}))
    done = subprocess.run([promtool, "check", "rules", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
