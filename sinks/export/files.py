"""Files of rows. Each is written beside its name and takes it when it is whole."""

import csv
import gzip
import json
import math
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from infra.errors import UserError
from sinks.json_rows import iso

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""How a cell begins that a spreadsheet would compute (OWASP, "CSV Injection"); the wide forms too."""


class RowFile(ABC):
    """Takes Arrow tables of one schema, one after the other."""

    def __init__(self, out: IO[bytes]) -> None:
        self.out = out

    @abstractmethod
    def write(self, rows: pa.Table) -> None:
        """Append the rows."""

    @abstractmethod
    def end(self) -> None:
        """Write what belongs after the last row; ``out`` stays open."""


class ParquetFile(RowFile):
    """A row group for each table, compressed with Zstandard."""

    _writer: pq.ParquetWriter | None = None

    def write(self, rows: pa.Table) -> None:
        """See :class:`RowFile`."""
        if self._writer is None:
            self._writer = pq.ParquetWriter(self.out, rows.schema, compression="zstd")
        self._writer.write_table(rows)

    def end(self) -> None:
        """See :class:`RowFile`."""
        if self._writer is not None:
            self._writer.close()


class JsonLinesFile(RowFile):
    """An object a line."""

    def write(self, rows: pa.Table) -> None:
        """See :class:`RowFile`."""
        for row in _rows(rows):
            self.out.write(json.dumps(row, ensure_ascii=False, separators=(",", ":"), default=_word).encode() + b"\n")

    def end(self) -> None:
        """Nothing stands after the last line."""


class CsvFile(RowFile):
    """RFC 4180 with a line of names; lists and maps are JSON. ``guarded``: text is never taken for a formula."""

    def __init__(self, out: IO[bytes], *, guarded: bool = True) -> None:
        super().__init__(out)
        self._guarded = guarded
        self._text = TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
        self._writer = csv.writer(self._text)
        self._named = False

    def write(self, rows: pa.Table) -> None:
        """See :class:`RowFile`."""
        if not self._named:
            self._writer.writerow(map(self._cell, rows.column_names))
            self._named = True
        for row in _rows(rows):
            self._writer.writerow([self._cell(value) for value in row.values()])

    def end(self) -> None:
        """See :class:`RowFile`."""
        self._text.detach()

    def _cell(self, value: object) -> object:
        if isinstance(value, (list, dict)):
            value = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_word)
        elif isinstance(value, (datetime, date)):
            return _word(value)
        if not isinstance(value, str):
            return value
        text = value.replace("\0", "")
        # An apostrophe in front is what spreadsheets themselves put there; white space does not hide a formula.
        return (
            f"'{text}"
            if self._guarded and (text.startswith(_FORMULA) or text.lstrip(" ").startswith(_FORMULA))
            else text
        )


def _rows(rows: pa.Table) -> Iterator[dict[str, Any]]:
    columns = {name: [_plain(value) for value in _values(rows[name])] for name in rows.column_names}
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _values(column: pa.ChunkedArray) -> list[Any]:
    try:
        values: list[Any] = column.to_pylist(maps_as_pydicts="lossy")
    except UnicodeDecodeError:
        # ClickHouse's String is bytes; what a query makes of them may be no text.
        values = [
            None if each is None else each.decode("utf-8", "replace") for each in column.cast(pa.binary()).to_pylist()
        ]
    return values


def _plain(value: object) -> object:
    """JSON has no word for what is no number."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _word(value: object) -> str:
    return iso(value) if isinstance(value, datetime) else str(value)


FORMATS: dict[str, Callable[[IO[bytes]], RowFile]] = {"parquet": ParquetFile, "jsonl": JsonLinesFile, "csv": CsvFile}


def format_of(target: Path, named: str | None) -> str:
    """The format that is named, else the one that the file's name ends with. Raises :class:`UserError`."""
    ends = [suffix.removeprefix(".") for suffix in target.suffixes if suffix != ".gz"]
    found = named or (ends[-1] if ends else "")
    if found not in FORMATS:
        raise UserError(f"{target.name!r} ends with no format: name one with --format: {', '.join(FORMATS)}")
    if found == "parquet" and target.suffix == ".gz":
        raise UserError("Parquet is compressed inside: name the file without .gz")
    return found


@contextmanager
def row_file(target: Path, format_: str, *, formulas: bool = False) -> Iterator[RowFile]:
    """A file of rows, compressed where its name ends with ``.gz``; it appears when the block ends well."""
    with whole(target) as out:
        packed: Any = gzip.GzipFile("", "wb", fileobj=out, mtime=0) if target.suffix == ".gz" else out
        made = CsvFile(packed, guarded=False) if format_ == "csv" and formulas else FORMATS[format_](packed)
        yield made
        made.end()
        if packed is not out:
            packed.close()


@contextmanager
def whole(target: Path) -> Iterator[IO[bytes]]:
    """Bytes that appear as the file ``target`` when the block ends well, and are gone when it does not."""
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("xb") as out:
            yield out
        beside.replace(target)
    except OSError as error:
        raise UserError(f"{target} cannot be written: {error.strerror or error}") from None
    finally:
        beside.unlink(missing_ok=True)
