"""Files of rows: whole or absent, and nothing in them that a spreadsheet computes."""

import csv
import gzip
import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.errors import UserError
from sinks.export.files import CsvFile, format_of, row_file, whole

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
ROWS = pa.table(
    {
        "text": ['a,b\r\n"c"', "=1+2", None],
        "at": pa.array([NOON] * 3, pa.timestamp("us", "UTC")),
        "number": [-1, 2, 3],
        "share": [0.5, float("nan"), None],
        "links": [["x", "=y"], [], ["z"]],
        "sources": pa.array([[("k", "v")], [], [("=a", "b")]], pa.map_(pa.string(), pa.string())),
    }
)


def as_csv(rows: pa.Table, *, guarded: bool = True) -> list[list[str]]:
    """The cells, read back."""
    out = io.BytesIO()
    made = CsvFile(out, guarded=guarded)
    made.write(rows)
    made.end()
    return list(csv.reader(io.StringIO(out.getvalue().decode(), newline="")))


def test_csv_has_names_numbers_texts_and_json_for_the_rest() -> None:
    """Numbers stay numbers, also below zero; times are ISO 8601; what is no value is empty."""
    names, first, second, third = as_csv(ROWS)
    assert names == ["text", "at", "number", "share", "links", "sources"]
    assert first == ['a,b\r\n"c"', "2026-12-01T12:00:00.000000+00:00", "-1", "0.5", '["x","=y"]', '{"k":"v"}']
    assert second[0] == "'=1+2"
    assert (third[0], second[3], third[3]) == ("", "", "")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_no_text_of_the_web_is_a_formula(texts: list[str]) -> None:
    """Whatever the pages say: no cell begins as a formula does, and the text is there behind the apostrophe."""
    _, *cells = as_csv(pa.table({"t": pa.array(texts, pa.string()), "end": ["."] * len(texts)}))
    for text, (cell, _) in zip(texts, cells, strict=True):
        assert not cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
        assert cell.removeprefix("'") == text.replace("\0", "").removeprefix("'")


@pytest.mark.parametrize("cell", ["=cmd|' /C calc'!A0", "+1", "-1+1", "@SUM(A1)", "\t=1", "  =1", "\uff1d1", "\0=1"])
def test_known_tricks_are_guarded(cell: str) -> None:
    """Those of the OWASP page, white space and NUL before them, and the wide forms; unless the user wants them."""
    rows = pa.table({"t": [cell]})
    assert as_csv(rows)[1][0].startswith("'")
    assert as_csv(rows, guarded=False)[1][0] == cell.replace("\0", "")


def test_names_of_columns_are_guarded_too() -> None:
    """A statement may call a column anything."""
    assert as_csv(pa.table({"=1": ["x"]}))[0] == ["'=1"]


def test_json_lines_come_back(tmp_path: Path) -> None:
    """An object a line, compressed by the name; what is no number is null, what is no text is replaced."""
    rows = ROWS.append_column("raw", pa.array([b"\xff", b"a", None], pa.binary()).cast(pa.binary()).view(pa.string()))
    with row_file(tmp_path / "x.jsonl.gz", "jsonl") as out:
        out.write(rows)
        out.write(rows)
    lines = [json.loads(line) for line in gzip.decompress((tmp_path / "x.jsonl.gz").read_bytes()).splitlines()]
    assert lines[:3] == lines[3:]
    assert lines[0]["sources"] == {"k": "v"}
    assert [each["share"] for each in lines[:3]] == [0.5, None, None]
    assert [each["raw"] for each in lines[:3]] == ["\ufffd", "a", None]


def test_parquet_comes_back(tmp_path: Path) -> None:
    """Types and values, over several writes."""
    rows = ROWS.drop_columns("share")
    with row_file(tmp_path / "x.parquet", "parquet") as out:
        out.write(rows)
        out.write(rows)
    assert pq.read_table(tmp_path / "x.parquet").equals(pa.concat_tables([rows, rows]))


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    """While it is written, and when that fails, there is nothing under its name; the old one stays."""
    target = tmp_path / "deep" / "x"
    with whole(target) as out:
        out.write(b"old")
    with pytest.raises(TypeError), whole(target) as out:
        out.writelines([b"new", "no bytes"])  # type: ignore[list-item]
    assert target.read_bytes() == b"old"
    assert [each.name for each in target.parent.iterdir()] == ["x"]


@pytest.mark.parametrize(
    ("name", "named", "found"),
    [("a.parquet", None, "parquet"), ("a.b.csv.gz", None, "csv"), ("a.jsonl", "csv", "csv"), ("a", "jsonl", "jsonl")],
)
def test_the_name_or_the_option_says_the_format(name: str, named: str | None, found: str) -> None:
    """The option is the stronger."""
    assert format_of(Path(name), named) == found


@pytest.mark.parametrize(("name", "named"), [("a", None), ("a.xlsx", None), ("a.csv", "xml"), ("a.parquet.gz", None)])
def test_a_format_that_there_is_not_is_told(name: str, named: str | None) -> None:
    """With those that there are."""
    with pytest.raises(UserError, match=r"(?i)parquet"):
        format_of(Path(name), named)
