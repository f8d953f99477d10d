"""The bytes of a record: Avro single-object encoding (Avro specification 1.12, "Single-object encoding").

``C3 01``, the little-endian CRC-64-AVRO fingerprint of the writer's schema, then the Avro body. No registry is needed:
the fingerprint finds the contract among ``schemas/avro/*.avsc`` (newest) and ``schemas/avro/released`` (all before),
and Avro's resolution turns an old record into the newest shape. fastavro does the work; ``avro`` judges the contracts
in the tests.
"""

from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Any, NamedTuple, TypeVar

from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro.schema import fingerprint, load_schema, to_parsing_canonical_form
from pydantic import ValidationError

from schemas import records
from schemas.orders import Order
from schemas.records import Record
from schemas.versions import Change, Version

MARKER = b"\xc3\x01"
_HEADER_BYTES = 10

R = TypeVar("R", bound=Record)

CONTRACTS: dict[type[Record], str] = {
    records.Seed: "seed",
    records.Crawl: "crawl",
    Order: "order",
    records.Links: "links",
    records.Request: "request",
    records.Fetch: "fetch",
    records.Page: "page",
    records.Document: "document",
    Version: "version",
    Change: "change",
    records.Decision: "decision",
    records.DeadLetter: "dead_letter",
    records.Heartbeat: "heartbeat",
}
"""Each record and the name of its contract."""


class Undecodable(ValueError):
    """The bytes are no record of the kind asked for, in any released version."""


class _Contract(NamedTuple):
    schema: Any
    header: bytes


def encode(record: Record) -> bytes:
    """The record as bytes, by the newest contract. The caller has validated it by making it."""
    contract = _newest(type(record))
    out = BytesIO()
    out.write(contract.header)
    # No record nests another, so its own dictionary is the datum: no copy.
    schemaless_writer(out, contract.schema, record.__dict__)
    return out.getvalue()


def decode(model: type[R], payload: bytes | None) -> R:
    """The record in ``payload``. Raises :class:`Undecodable` for anything else, whatever the bytes are."""
    if payload is None:
        raise Undecodable("no value: a tombstone where a record is expected")
    if payload[:2] != MARKER or len(payload) < _HEADER_BYTES:
        raise Undecodable("not Avro single-object encoding: the first bytes are not C3 01 and a fingerprint")
    writer = _versions(model).get(payload[:_HEADER_BYTES])
    if writer is None:
        raise Undecodable(f"fingerprint {payload[2:_HEADER_BYTES].hex()} is no released version of {model.__name__}")
    newest = _newest(model).schema
    body = BytesIO(payload)
    body.seek(_HEADER_BYTES)
    try:
        datum = schemaless_reader(body, writer, None if writer is newest else newest)
        return model.model_validate(datum)
    except ValidationError as error:
        raise Undecodable(_summary(error)) from None
    except Exception as error:
        # fastavro raises whatever its decoder trips over: EOFError, IndexError, UnicodeDecodeError, OverflowError, ...
        raise Undecodable(f"the Avro body is broken: {type(error).__name__}") from None


def _summary(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_url=False))


def header(schema: Any) -> bytes:
    """The ten bytes that begin every record written by ``schema``."""
    return MARKER + bytes.fromhex(fingerprint(to_parsing_canonical_form(schema), "CRC-64-AVRO"))


@cache
def _newest(model: type[Record]) -> _Contract:
    schema = load_schema(str(files("schemas").joinpath("avro", f"{CONTRACTS[model]}.avsc")))
    return _Contract(parse_schema(schema), header(schema))


@cache
def _versions(model: type[Record]) -> dict[bytes, Any]:
    newest = _newest(model)
    versions: dict[bytes, Any] = {}
    released = files("schemas").joinpath("avro", "released")
    if released.is_dir():
        prefix = f"{CONTRACTS[model]}."
        for path in sorted(str(entry) for entry in released.iterdir() if entry.name.startswith(prefix)):
            old = parse_schema(load_schema(path))
            versions[header(old)] = old
    return versions | {newest.header: newest.schema}
