"""The Avro contracts: judged by avro, kept by the models, the same bytes from both libraries."""

import types
from datetime import datetime
from enum import StrEnum
from io import BytesIO
from pathlib import Path
from typing import Any, Union, get_args, get_origin

import avro.io
import avro.schema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.kafka.topics import all_topics
from schemas import records
from schemas.outcomes import CONSEQUENCES, Outcome
from schemas.records import Record
from schemas.wire import CONTRACTS, MARKER, Undecodable, decode, encode
from tests.contracts.record_examples import MODELS, example

AVRO = Path(records.__file__).parent / "avro"


def contract(model: type[Record]) -> Any:
    """The contract as avro reads it: strictly."""
    return avro.schema.parse((AVRO / f"{CONTRACTS[model]}.avsc").read_text())


AVRO_TYPES = {str: "string", bytes: "bytes", bool: "boolean", float: "double", datetime: "long"}


def _matches(kind: Any, schema: Any) -> bool:
    if get_origin(kind) in (Union, types.UnionType):
        inner = next(each for each in get_args(kind) if each is not type(None))
        return schema.schemas[0].type == "null" and _matches(inner, schema.schemas[1])
    if get_origin(kind) is list:
        return bool(schema.type == "array") and _matches(get_args(kind)[0], schema.items)
    if get_origin(kind) is dict:
        return bool(schema.type == "map") and _matches(get_args(kind)[1], schema.values)
    if issubclass(kind, StrEnum):
        return bool(schema.type == "enum") and set(schema.symbols) == {each.value for each in kind}
    if kind is int:
        return schema.type in ("int", "long")
    return bool(schema.type == AVRO_TYPES[kind])


@pytest.mark.parametrize("model", MODELS)
def test_the_model_keeps_its_contract(model: type[Record]) -> None:
    """Same fields in the same order, same types, and a documentation for the record and for each field."""
    schema = contract(model)
    assert schema.name == model.__name__
    assert [field.name for field in schema.fields] == list(model.model_fields)
    assert schema.doc
    for field in schema.fields:
        assert field.doc, field.name
        assert _matches(model.model_fields[field.name].annotation, field.type), field.name


@pytest.mark.parametrize("model", MODELS)
def test_what_we_write_avro_reads(model: type[Record]) -> None:
    """The bytes after the header are the ones that the reference implementation reads and writes."""
    record = example(model)
    payload = encode(record)
    datum: Any = avro.io.DatumReader(contract(model)).read(avro.io.BinaryDecoder(BytesIO(payload[10:])))
    assert datum == record.model_dump()
    again = BytesIO()
    avro.io.DatumWriter(contract(model)).write(datum, avro.io.BinaryEncoder(again))
    assert payload == payload[:10] + again.getvalue()


@pytest.mark.parametrize("model", MODELS)
def test_records_survive_the_wire(model: type[Record]) -> None:
    """Decoding what was encoded gives the same record."""
    assert decode(model, encode(example(model))) == example(model)


@given(st.binary(max_size=200), st.sampled_from(MODELS))
def test_foreign_bytes_are_undecodable_and_nothing_worse(payload: bytes, model: type[Record]) -> None:
    """Whatever the bytes, also behind a right header: a record or Undecodable."""
    header = encode(example(model))[:10]
    for attempt in (payload, MARKER + payload, header + payload):
        try:
            decode(model, attempt)
        except Undecodable:
            continue


def test_a_tombstone_is_undecodable() -> None:
    """A record without a value says so."""
    with pytest.raises(Undecodable, match="tombstone"):
        decode(records.Page, None)


def test_every_topic_names_contracts_that_exist() -> None:
    """The topics file and the contracts agree."""
    named = {name for topic in all_topics().values() for name in topic.records}
    assert named == set(CONTRACTS.values())


def test_a_dead_letter_has_room_for_any_record() -> None:
    """The limit of the dead letters is above that of every other topic."""
    limits = {name: topic.max_record_bytes for name, topic in all_topics().items()}
    dead = limits.pop(next(name for name in limits if name == "dead-letters"))
    assert dead > max(limits.values())


def test_every_outcome_has_its_consequence() -> None:
    """The table of consequences is complete."""
    assert set(CONSEQUENCES) == set(Outcome)
