"""Framing by a schema registry: one suite for the registry in memory and for a real one."""

import json
from collections.abc import Iterator

import pytest

from infra import registry as registries
from infra.devstack.registry import memory_registry
from infra.errors import RetryLater, UserError
from infra.registry import SchemaRegistry
from infra.settings import load
from schemas.compatibility import released
from schemas.records import Document, Record, Seed
from schemas.wire import CONFLUENT, CONTRACTS, MARKER, Undecodable, contract_text, decode, encode, prepare
from streams.seeds import read
from tests.contracts.apicurio import apicurio
from tests.contracts.record_examples import MODELS, example


@pytest.fixture(scope="module", params=["memory", "apicurio"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a registry answers."""
    if request.param == "memory":
        with memory_registry() as (_, served):
            yield served
    else:
        with apicurio(tmp_path_factory.mktemp("apicurio") / "log") as served:
            yield served


@pytest.fixture(autouse=True)
def _without_registry_afterwards() -> Iterator[None]:
    yield
    registries.use(None)


def registered(url: str, contract: str, text: str) -> int:
    """The number of another version of a contract."""
    schema = json.loads(text)
    found = SchemaRegistry(url)._ask(
        "POST", f"/subjects/{schema['namespace']}.{schema['name']}/versions", {"schema": text, "schemaType": "AVRO"}
    )
    assert found is not None
    return int(found["id"])


@pytest.mark.parametrize("model", MODELS)
def test_records_survive_a_registry(url: str, model: type[Record]) -> None:
    """With a registry a record is five bytes and the body; whoever knows the registry reads it."""
    plain = encode(example(model))
    registries.use(url)
    framed = encode(example(model))
    assert framed[:1] == CONFLUENT
    assert framed[5:] == plain[10:]
    assert decode(model, framed) == example(model)


def test_both_framings_are_read_at_once(url: str) -> None:
    """Switching a pipeline over loses nothing: what was written before is read as before, and seeds in either form."""
    plain = encode(Seed(url="https://a.test/"))
    registries.use(url)
    framed = encode(Seed(url="https://b.test/"))
    assert [plain[:2], framed[:1]] == [MARKER, CONFLUENT]
    assert [read(each).url for each in (plain, framed)] == ["https://a.test/", "https://b.test/"]


def test_a_record_by_an_older_schema_of_the_registry_is_read(url: str) -> None:
    """The number leads to the writer's schema, and Avro's resolution to the newest record."""
    older = next(text for text in released("document").values() if "simhash" not in text)
    number = registered(url, "document", older)
    registries.use(url)
    whole = example(Document)
    body = encode(whole)[5:]
    newest_fields = [field["name"] for field in json.loads(contract_text("document"))["fields"]]
    older_fields = [field["name"] for field in json.loads(older)["fields"]]
    assert newest_fields[: len(older_fields)] == older_fields
    found = decode(Document, CONFLUENT + number.to_bytes(4, "big") + body)
    assert found.model_dump(include=set(older_fields)) == whole.model_dump(include=set(older_fields))
    assert found.simhash == 0


def test_a_number_that_nobody_knows_is_undecodable(url: str) -> None:
    """It is poison, not trouble: the registry has answered."""
    registries.use(url)
    with pytest.raises(Undecodable, match="has no schema 2000000000"):
        decode(Seed, CONFLUENT + (2_000_000_000).to_bytes(4, "big") + b"x")


def test_without_a_registry_its_records_are_undecodable() -> None:
    """The message says what to set."""
    with pytest.raises(Undecodable, match="SCHEMA_REGISTRY_URL"):
        decode(Seed, CONFLUENT + b"\x00\x00\x00\x01x")


def test_the_setting_decides(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """SCHEMA_REGISTRY_URL chooses how a process writes, and a stage knows every number before its first record."""
    monkeypatch.setenv("SCHEMA_REGISTRY_URL", url)
    assert url not in repr(load())
    prepare()
    assert encode(Seed(url="https://a.test/"))[:1] == CONFLUENT
    monkeypatch.delenv("SCHEMA_REGISTRY_URL")
    load()
    assert encode(Seed(url="https://a.test/"))[:2] == MARKER


def test_a_registry_is_asked_once_for_each_contract() -> None:
    """Not for each record."""
    with memory_registry() as (registry, url):
        registries.use(url)
        prepare()
        asked = len(registry.requests)
        for _ in range(3):
            for model in MODELS:
                decode(model, encode(example(model)))
        assert asked == 2 * len(CONTRACTS)
        assert len(registry.requests) == asked + len(CONTRACTS)


def test_a_registry_that_is_away_is_trouble_and_not_poison() -> None:
    """No record becomes a dead letter because the registry does not answer."""
    with memory_registry() as (_, url):
        pass
    registries.use(url)
    with pytest.raises(RetryLater, match="does not answer"):
        prepare()
    with pytest.raises(RetryLater):
        decode(Seed, CONFLUENT + b"\x00\x00\x00\x01x")


def test_a_registry_that_refuses_says_why() -> None:
    """A contract that others have registered incompatibly under our name is told to the user."""
    with memory_registry() as (_, url):
        foreign = {"type": "record", "name": "Seed", "namespace": "odradek", "fields": [{"name": "n", "type": "int"}]}
        registered(url, "seed", json.dumps(foreign))
        with pytest.raises(UserError, match="incompatible"):
            SchemaRegistry(url).id_of("seed")


def test_the_password_of_a_registry_is_in_no_message() -> None:
    """User and password go into a header and nowhere else."""
    registry = SchemaRegistry("http://user:secret@127.0.0.1:9/")
    with pytest.raises(RetryLater) as caught:
        registry.id_of("seed")
    assert "secret" not in str(caught.value)
    assert "Basic" in registry._headers["Authorization"]
