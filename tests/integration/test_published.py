"""What is published is enough: others read the topics without a line of ours."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from uuid import uuid4

import pytest
from fastavro import parse_schema, schemaless_writer

from infra.devstack.jars import cache_dir, class_path
from infra.kafka.asyncapi import document as asyncapi
from infra.kafka.asyncapi import rendered
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from schemas.compatibility import released
from schemas.records import Document
from schemas.wire import contract_text, encode, header
from tests.contracts.record_examples import example

DOCS = Path(__file__).resolve().parents[2] / "docs"
PUBLISHED = DOCS / "asyncapi.json"
AVRO = ("org.apache.avro", "avro", "1.12.1")
AVRO_SHA256 = "72600f057bfbe2efe35fa55433e7756d45667dc938934be38a6e2be368aca237"


def test_the_published_file_is_current() -> None:
    """docs/asyncapi.json is what the topics file and the contracts say today; `make contracts` writes it."""
    assert PUBLISHED.read_text() == rendered()


def test_every_reference_leads_somewhere() -> None:
    """Each $ref of the document names a part of it, and each record of a topic is a message with its contract."""
    whole = asyncapi()
    references: list[str] = []

    def collect(node: object) -> None:
        if isinstance(node, dict):
            references.extend(each for name, each in node.items() if name == "$ref")
        for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            collect(each)

    collect({name: part for name, part in whole.items() if name != "components"})
    assert len(references) > 30
    for reference in references:
        found: object = whole
        for step in reference.removeprefix("#/").split("/"):
            assert isinstance(found, dict)
            found = found[step]
    assert whole["components"]["messages"]["document"]["payload"]["schema"] == json.loads(contract_text("document"))


def _old_record(file: str, url: str) -> bytes:
    """A document as the version in ``file`` writes it."""
    schema = parse_schema(json.loads(released("document")[file]))
    out = BytesIO()
    out.write(header(schema))
    schemaless_writer(out, schema, example(Document).__dict__ | {"url": url})
    return out.getvalue()


@contextmanager
def lines(command: list[str]) -> Iterator[Iterator[str]]:
    """What the program writes, line by line; it is stopped at the end, and after a minute of silence."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": ""}) as process:
        assert process.stdout is not None
        guard = threading.Timer(60, process.kill)
        guard.start()
        try:
            yield iter(process.stdout)
        finally:
            guard.cancel()
            process.kill()


def check(settings: Settings, command: list[str]) -> None:
    """The program tells every version's document and passes over poison."""
    mark = uuid4().hex
    files = sorted(released("document"))
    values = {f"http://{mark}.test/{file}": _old_record(file, f"http://{mark}.test/{file}") for file in files}
    now = f"http://{mark}.test/now"
    values[now] = encode(
        Document.model_validate(example(Document).model_dump() | {"url": now, "title": "Käse \U0001f9c0"})
    )
    records = [Outbound(TopicName.DOCUMENTS, mark.encode(), value) for value in (b"poison", *values.values())]
    assert Producer(settings, "test").send_all(records, timedelta(seconds=30)) == []
    found = {}
    with lines(command) as told:
        for line in told:
            document = json.loads(line)
            if mark in document["url"]:
                found[document["url"]] = document
            if len(found) == len(values):
                break
    assert found.keys() == values.keys()
    assert found[now] == {"url": now, "title": "Käse \U0001f9c0", "words": 7}


def test_python_reads_documents(kafka_settings: Settings) -> None:
    """The example consumer in Python, with confluent-kafka, fastavro and the published file."""
    servers = str(kafka_settings.kafka_bootstrap_servers)
    check(kafka_settings, [sys.executable, str(DOCS / "consumers" / "consume.py"), servers, str(PUBLISHED)])


def avro_jar() -> Path:
    """Avro for Java, checked, from the cache or from Maven Central."""
    group, artifact, version = AVRO
    jar = cache_dir() / "examples" / f"{artifact}-{version}.jar"
    if not jar.is_file():
        from jgo.maven import MavenContext  # noqa: PLC0415  # half a second, needed once in the life of a cache

        jar.parent.mkdir(parents=True, exist_ok=True)
        context = MavenContext(repo_cache=jar.parent / ".repository", local_repos=[], timeout=60)
        try:
            fetched = context.project(group, artifact).at_version(version).artifact().resolve()
        except Exception as error:
            pytest.skip(f"{jar.name} cannot be fetched from Maven Central: {error}")
        fetched.replace(jar)
    assert sha256(jar.read_bytes()).hexdigest() == AVRO_SHA256
    return jar


def test_java_reads_documents(kafka_settings: Settings) -> None:
    """The example consumer in Java, with Kafka's own client, Avro's own decoder and the published file."""
    if shutil.which("javac") is None:
        pytest.skip("no Java compiler: apt-get install default-jdk-headless")
    jars = ":".join(map(str, [avro_jar(), *class_path()]))
    servers = str(kafka_settings.kafka_bootstrap_servers)
    check(kafka_settings, ["java", "-cp", jars, str(DOCS / "consumers" / "Consume.java"), servers, str(PUBLISHED)])
