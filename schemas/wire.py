"""The bytes of a record, in one of two framings that the first byte tells apart; what is read may be in either.

- Avro single-object encoding (Avro specification 1.12): ``C3 01``, the little-endian CRC-64-AVRO fingerprint of the
  writer's schema, then the Avro body. No registry is needed: the fingerprint finds the contract among
  ``schemas/avro/*.avsc`` (newest) and ``schemas/avro/released`` (all that were ever written).
- Confluent's framing, written while a registry is in use (:func:`use_registry`): ``00``, the big-endian id of the
  writer's schema in the registry, then the Avro body.

Avro's resolution turns an old record into the newest shape. fastavro does the work; ``avro`` judges the contracts
(:mod:`schemas.compatibility`).
"""

from functools import cache, lru_cache
from importlib.resources import files
from io import BytesIO
from typing import Any, NamedTuple, Protocol, TypeVar

from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro.schema import fingerprint, load_schema, to_parsing_canonical_form
from pydantic import ValidationError

from schemas import letters, records
from schemas.orders import Order
from schemas.records import Record
from schemas.versions import Change, Version

MARKER = b"\xc3\x01"
CONFLUENT = b"\x00"
_HEADER_BYTES = 10
_CONFLUENT_HEADER_BYTES = 5

R = TypeVar("R", bound=Record)

CONTRACTS: dict[type[Record], str] = {
    records.Seed: "seed",
    records.Crawl: "crawl",
    Order: "order",
    records.Proxies: "proxies",
    records.Links: "links",
    records.Request: "request",
    records.Fetch: "fetch",
    records.Page: "page",
    records.Document: "document",
    Version: "version",
    Change: "change",
    records.Decision: "decision",
    letters.DeadLetter: "dead_letter",
    letters.Resolution: "resolution",
    records.Heartbeat: "heartbeat",
}
"""Each record and the name of its contract."""


class Undecodable(ValueError):
    """The bytes are no record of the kind asked for, in any released version."""


class Registry(Protocol):
    """Where schemas have numbers. How its methods fail is told by whoever implements them."""

    def id_of(self, contract: str) -> int:
        """The number of the newest version of a contract, by its name in :data:`CONTRACTS`."""
        ...

    def schema(self, number: int) -> dict[str, Any] | None:
        """The schema of this number; ``None`` when there is none."""
        ...


class _Contract(NamedTuple):
    schema: Any
    header: bytes


_registry: Registry | None = None


def use_registry(registry: Registry | None) -> None:
    """Write in Confluent's framing from now on, by this registry; ``None``: in single-object encoding."""
    global _registry  # noqa: PLW0603  # the one choice of a process, as which broker it talks to
    _registry = registry
    _registered.cache_clear()


def prepare() -> None:
    """Ask the registry in use, if there is one, for every number, so that no record waits for it later."""
    if _registry is not None:
        for contract in CONTRACTS.values():
            _registry.id_of(contract)


def encode(record: Record) -> bytes:
    """The record as bytes, by the newest contract. The caller has validated it by making it."""
    contract = _newest(type(record))
    out = BytesIO()
    out.write(contract.header if _registry is None else _confluent_header(_registry.id_of(CONTRACTS[type(record)])))
    # No record nests another, so its own dictionary is the datum: no copy.
    schemaless_writer(out, contract.schema, record.__dict__)
    return out.getvalue()


def decode(model: type[R], payload: bytes | None) -> R:
    """The record in ``payload``. Raises :class:`Undecodable` for anything else, whatever the bytes are.

    A number that it meets for the first time is asked of the registry in use, whose failures pass through.
    """
    if payload is None:
        raise Undecodable("no value: a tombstone where a record is expected")
    writer, header_bytes = _writer(model, payload)
    newest = _newest(model).schema
    body = BytesIO(payload)
    body.seek(header_bytes)
    try:
        datum = schemaless_reader(body, writer, None if writer is newest else newest)
        return model.model_validate(datum)
    except ValidationError as error:
        raise Undecodable(_summary(error)) from None
    except Exception as error:
        # fastavro raises whatever its decoder trips over: EOFError, IndexError, UnicodeDecodeError, OverflowError, ...
        raise Undecodable(f"the Avro body is broken: {type(error).__name__}") from None


def _writer(model: type[Record], payload: bytes) -> tuple[Any, int]:
    """The schema that the payload was written by, and where its body begins."""
    if payload[:1] == CONFLUENT and len(payload) >= _CONFLUENT_HEADER_BYTES:
        number = int.from_bytes(payload[1:_CONFLUENT_HEADER_BYTES], "big")
        return _registered(number), _CONFLUENT_HEADER_BYTES
    if payload[:2] != MARKER or len(payload) < _HEADER_BYTES:
        raise Undecodable("not Avro: the first bytes are neither C3 01 and a fingerprint nor 00 and a schema id")
    writer = _versions(model).get(payload[:_HEADER_BYTES])
    if writer is None:
        raise Undecodable(f"fingerprint {payload[2:_HEADER_BYTES].hex()} is no released version of {model.__name__}")
    return writer, _HEADER_BYTES


@lru_cache(maxsize=1_000)
def _registered(number: int) -> Any:
    if _registry is None:
        raise Undecodable(f"schema {number} of a registry, and none is named: set SCHEMA_REGISTRY_URL")
    schema = _registry.schema(number)
    if schema is None:
        raise Undecodable(f"the registry has no schema {number}")
    try:
        return parse_schema(schema)
    except Exception as error:
        # Whatever somebody registered: fastavro raises several kinds of errors, some of them its own.
        raise Undecodable(f"schema {number} of the registry is no Avro: {type(error).__name__}") from None


def _confluent_header(number: int) -> bytes:
    return CONFLUENT + number.to_bytes(4, "big")


def _summary(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_url=False))


def contract_text(name: str) -> str:
    """The newest version of a contract, as it stands in its file."""
    return files("schemas").joinpath("avro", f"{name}.avsc").read_text()


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
