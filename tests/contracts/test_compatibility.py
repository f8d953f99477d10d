"""Contracts change without breaking anybody: old readers and new records, new readers and old records."""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import avro.io
import avro.schema
import pytest
from fastavro import parse_schema, schemaless_writer

from schemas.compatibility import faults, released
from schemas.records import Document, Record
from schemas.release import release
from schemas.wire import CONTRACTS, contract_text, decode, encode, header
from tests.contracts.record_examples import MODELS, example

VERSIONS = [
    pytest.param(model, text, id=file) for model in MODELS for file, text in sorted(released(CONTRACTS[model]).items())
]


@pytest.mark.parametrize("model", MODELS)
def test_no_contract_breaks_any_version_that_was_released(model: type[Record]) -> None:
    """Each version can be read by the newest and the newest by each; the newest is released itself."""
    name = CONTRACTS[model]
    assert list(faults(name, contract_text(name), released(name))) == []


@pytest.mark.parametrize(("model", "text"), VERSIONS)
def test_old_records_are_read_by_us(model: type[Record], text: str) -> None:
    """Bytes of each released version become the newest record; what the version did not know has its default."""
    schema = parse_schema(json.loads(text))
    known = {field["name"] for field in json.loads(text)["fields"]}
    whole = example(model)
    out = BytesIO()
    out.write(header(schema))
    schemaless_writer(out, schema, {name: value for name, value in whole.__dict__.items() if name in known})
    found = decode(model, out.getvalue())
    for name, field in model.model_fields.items():
        wanted = getattr(whole, name) if name in known else field.get_default(call_default_factory=True)
        assert getattr(found, name) == wanted, name


@pytest.mark.parametrize(("model", "text"), VERSIONS)
def test_our_records_are_read_by_old_readers(model: type[Record], text: str) -> None:
    """The reference implementation, knowing both contracts as readers do, reads our bytes as the old version."""
    record = example(model)
    reader = avro.io.DatumReader(avro.schema.parse(contract_text(CONTRACTS[model])), avro.schema.parse(text))
    datum: Any = reader.read(avro.io.BinaryDecoder(BytesIO(encode(record)[10:])))
    known = {field["name"] for field in json.loads(text)["fields"]}
    assert datum == {name: value for name, value in record.model_dump().items() if name in known}


def test_several_versions_are_there_to_be_tried() -> None:
    """The tests above have old versions to work with."""
    assert len(released(CONTRACTS[Document])) > 1


def _without(schema: Any, name: str) -> None:
    schema["fields"] = [field for field in schema["fields"] if field["name"] != name]


def _retyped(schema: Any) -> None:
    next(field for field in schema["fields"] if field["name"] == "status")["type"] = "string"


def _grown(schema: Any) -> None:
    schema["fields"].append({"name": "more", "type": "string", "doc": "Without a default."})


def _new_symbol(schema: Any) -> None:
    cut = next(field for field in schema["fields"] if field["name"] == "cut")["type"][1]
    cut["symbols"].append("boredom")


def _no_default(schema: Any) -> None:
    del next(field for field in schema["fields"] if field["name"] == "cut")["type"][1]["default"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda schema: _without(schema, "url"), "readers of"),
        (_retyped, "reader type: string not compatible with writer type: int"),
        (_grown, "cannot read records of"),
        (_no_default, "has no default"),
        (lambda schema: schema.update(type="recrod"), "no valid Avro"),
        (lambda schema: _without(schema, "sources"), "make contracts"),
    ],
)
def test_a_change_that_breaks_somebody_is_refused(change: Callable[[Any], object], said: str) -> None:
    """A field that old readers need, another type, a field without default, a closed enum, a version not kept."""
    schema = json.loads(contract_text("document"))
    change(schema)
    found = list(faults("document", json.dumps(schema), released("document")))
    assert any(said in each for each in found), found


def test_a_change_that_breaks_nobody_passes(tmp_path: Path) -> None:
    """A field with a default and a symbol of an open enum, once it is released; to release it again does nothing."""
    schema = json.loads(contract_text("document"))
    schema["fields"].append({"name": "more", "type": "string", "doc": "New.", "default": ""})
    _new_symbol(schema)
    text = json.dumps(schema)
    file = release("document", text, tmp_path)
    assert file is not None
    assert release("document", text, tmp_path) is None
    assert list(faults("document", text, released("document") | {file: (tmp_path / file).read_text()})) == []


def test_a_released_version_cannot_be_changed_unnoticed() -> None:
    """The name of its file is its fingerprint."""
    versions = released("document")
    file, text = next(iter(versions.items()))
    changed = versions | {file: text.replace('"status"', '"state"')}
    assert any("was changed" in each for each in faults("document", contract_text("document"), changed))
