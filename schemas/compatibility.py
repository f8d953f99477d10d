"""Whether the contracts may stand as they are; `make check` runs it.

Each version of a contract that ``main`` ever wrote is kept in ``schemas/avro/released`` as ``NAME.FINGERPRINT.avsc``:
records of it may stand in somebody's Kafka for as long as retention keeps them. ``avro``, the reference implementation,
judges each of them against the newest one, both ways: old records for new readers, new records for old readers.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import avro.errors
import avro.schema
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType

from schemas.wire import CONTRACTS, MARKER, contract_text, header


def released(name: str) -> dict[str, str]:
    """The text of each version of a contract that was ever written, by the name of its file."""
    folder = files("schemas").joinpath("avro", "released")
    found: list[Traversable] = list(folder.iterdir()) if folder.is_dir() else []
    return {each.name: each.read_text() for each in found if each.name.startswith(f"{name}.")}


def file_name(name: str, text: str) -> str:
    """Where a version is kept: its fingerprint (CRC-64-AVRO) is its identity on the wire too."""
    return f"{name}.{header(json.loads(text)).removeprefix(MARKER).hex()}.avsc"


def faults(name: str, text: str, versions: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with ``text`` as the newest version of a contract, one sentence each."""
    try:
        new = avro.schema.parse(text)
    except avro.errors.SchemaParseException as error:
        yield f"{name}.avsc is no valid Avro: {error}"
        return
    if file_name(name, text) not in versions:
        yield f"{name}.avsc is not kept in schemas/avro/released: run `make contracts`"
    yield from (f"{name}.avsc: {each}" for each in _enums_without_default(json.loads(text)))
    for file, old_text in sorted(versions.items()):
        if file != file_name(name, old_text):
            yield f"released/{file} was changed: what is released stays as it is"
        old = avro.schema.parse(old_text)
        yield from (f"{name}.avsc cannot read records of {file}: {each}" for each in _obstacles(new, old))
        yield from (f"readers of {file} cannot read records of {name}.avsc: {each}" for each in _obstacles(old, new))


def _obstacles(reader: Any, writer: Any) -> list[str]:
    checker: Any = ReaderWriterCompatibilityChecker()  # type: ignore[no-untyped-call]  # avro has no annotation
    verdict = checker.get_compatibility(reader, writer)
    return [] if verdict.compatibility is SchemaCompatibilityType.compatible else sorted(verdict.messages)


def _enums_without_default(schema: Any, doc: str = "") -> Iterator[str]:
    """An enum without a default can never get another symbol, unless its readers are meant to refuse that."""
    match schema:
        case {"type": "enum"} if "default" not in schema and "Without a default:" not in doc:
            yield f"enum {schema['name']} has no default: old readers could read none of its later symbols"
        case {"type": inner}:
            yield from _enums_without_default(inner, doc)
            for field in schema.get("fields", ()):
                yield from _enums_without_default(field["type"], field["doc"])
        case list():
            for each in schema:
                yield from _enums_without_default(each, doc)


def main() -> int:
    """Print what is wrong with any contract; returns the exit code."""
    found = [fault for name in CONTRACTS.values() for fault in faults(name, contract_text(name), released(name))]
    sys.stderr.writelines(f"{each}\n" for each in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
