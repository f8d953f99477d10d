"""The pure parts of the ClickHouse sink: rows, errors, statements, migrations."""

from datetime import UTC, datetime

import pytest
from clickhouse_connect.driver.exceptions import DatabaseError, OperationalError

from infra.errors import NeverValid
from infra.kafka.topics import TopicName
from infra.settings import Settings
from schemas.records import Cut
from sinks.clickhouse import connection, errors, statements
from sinks.clickhouse import migrations as clickhouse_migrations
from sinks.clickhouse.rows import arrow_table
from sinks.clickhouse.sink import token
from sinks.judging import Verdict
from sinks.migrations import migrations
from sinks.tables import TABLES
from tests.unit.sinks.sink_samples import MAKERS, block, block_of, document


@pytest.mark.parametrize("topic", list(TABLES))
def test_every_field_of_a_record_has_its_column(topic: TopicName) -> None:
    """Nothing of a record is lost on the way to its row; the body of a robots.txt alone stays in its own topic."""
    columns = set(arrow_table(TABLES[topic], [block(topic, range(3))]).column_names)
    assert set(type(MAKERS[topic](0, "x")).model_fields) - {"body", "body_hash"} <= columns


def test_values_come_through_as_they_are() -> None:
    """Enums become their words, digests hexadecimal, times keep their microseconds."""
    record = document(3, cut=Cut.TIME, fetched_at=datetime(2026, 1, 2, 3, 4, 5, 678901, UTC))
    [row] = arrow_table(TABLES[TopicName.DOCUMENTS], [block_of(TopicName.DOCUMENTS, record, first=9)]).to_pylist()
    assert row["cut"] == "time"
    assert row["url_id"] == record.url_id.hex()
    assert row["fetched_at"] == record.fetched_at
    assert (row["kafka_partition"], row["kafka_offset"], row["trace_id"]) == (0, 9, "")


@pytest.mark.parametrize(
    ("changes", "column"),
    [
        ({"title": "\ud800"}, "title"),
        ({"links": ["http://h.test/", "\udfff"]}, "links"),
        ({"url_id": b"short"}, "url_id"),
        ({"fetched_at": datetime(1899, 12, 31, tzinfo=UTC)}, "fetched_at"),
        ({"cleaned_at": datetime(2300, 1, 1, tzinfo=UTC)}, "cleaned_at"),
        ({"visit": 2**31}, "visit"),
        ({"body_bytes": 2**63}, "body_bytes"),
    ],
)
def test_what_fits_no_column_is_never_valid(changes: dict[str, object], column: str) -> None:
    """A value that the store cannot hold is refused by the name of its column, never stored as something else."""
    with pytest.raises(NeverValid, match=f"column {column}") as caught:
        arrow_table(
            TABLES[TopicName.DOCUMENTS], [block_of(TopicName.DOCUMENTS, document(0).model_copy(update=changes))]
        )
    assert caught.value.reason == "unstorable"


@pytest.mark.parametrize("code", [252, 241, 159, 243, 60, 16, 497, 164, 999, 210, None])
def test_trouble_of_the_store_waits(code: int | None) -> None:
    """Too many parts, no memory, no time, no disk, a missing table: the rows are good, so they wait."""
    error = DatabaseError("Code: x", code=code)
    assert errors.judge(error) is Verdict.TROUBLE
    assert errors.judge(OperationalError("connection reset")) is Verdict.TROUBLE
    assert errors.judge(OSError(28, "No space left on device")) is Verdict.TROUBLE


def test_an_empty_query_is_a_cut_connection() -> None:
    """Error 62 with "Empty query" says that the statement never arrived (clickhouse-connect#731)."""
    cut = DatabaseError("Code: 62. DB::Exception: Empty query. (SYNTAX_ERROR)", code=62)
    assert errors.judge(cut) is Verdict.TROUBLE


@pytest.mark.parametrize("code", sorted(errors.DATA_ERRORS))
def test_errors_of_the_data_are_never_valid(code: int) -> None:
    """A closed set of codes speaks against a row."""
    assert errors.judge(DatabaseError("bad", code=code)) is Verdict.ROW


@pytest.mark.parametrize("code", sorted(errors.REFUSED))
def test_a_refused_user_is_nothing_to_wait_for(code: int) -> None:
    """Who sets the DSN has to mend it."""
    assert errors.judge(DatabaseError("Authentication failed", code=code)) is Verdict.REFUSED


def test_which_store_a_dsn_means() -> None:
    """``clickhouse:`` alone is CLICKHOUSE_URL or else the embedded engine; more is a server."""
    assert connection.server(Settings(), "clickhouse:") is None
    assert connection.server(Settings(clickhouse_url="http://a:1"), "clickhouse://") == "http://a:1"
    assert connection.server(Settings(), "clickhouse://u:p@h:8123/db") == "clickhouse://u:p@h:8123/db"


def test_a_token_of_several_blocks_names_all_of_them() -> None:
    """Blocks of several partitions go in one statement; its token changes with any of them."""
    one, two = block(TopicName.DOCUMENTS, range(3)), block(TopicName.DOCUMENTS, range(5), partition=1)
    assert token([one]) == one.token
    assert token([one, two]) == token([one, two])
    assert token([one, two]) != token([one, block(TopicName.DOCUMENTS, range(4), partition=1)])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "  -- note\nselect ';' as a, 'INTO OUTFILE'",
        "WITH 1 AS x SELECT x;",
        "(SELECT 1) UNION ALL (SELECT 2)",
        "SHOW TABLES",
        "DESCRIBE documents",
        "explain select 1",
        "/* a; b */ EXISTS documents",
        'SELECT "drop;" FROM `x;y`',
        "SELECT 'it''s; fine', 'a\\'; DROP'",
    ],
)
def test_statements_that_read_pass(sql: str) -> None:
    """Reading is not hindered by what stands in strings, names and comments."""
    assert statements.refusal(sql) is None


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "-- nothing",
        "INSERT INTO t VALUES (1)",
        "SYSTEM STOP MERGES",
        "KILL QUERY WHERE 1",
        "SELECT 1; SYSTEM STOP MERGES",
        "SELECT 1 INTO OUTFILE '/tmp/x'",
        "select 1 into/**/outfile '/tmp/x'",
        "DROP TABLE documents",
        "SET readonly = 0",
        "USE system",
        "SELECT 'a' -- '\n; DROP TABLE documents",
        "SELECT $x$ ; $x$ ; DROP TABLE documents",
        "SELECT 1 PARALLEL WITH DROP TABLE t",
    ],
)
def test_statements_that_do_more_than_read_are_refused(sql: str) -> None:
    """The embedded engine's own readonly mode lets SYSTEM, KILL, OUTFILE and further statements pass; we do not."""
    assert statements.refusal(sql)


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT 1 FORMAT JSON", "JSON"),
        ("SELECT 1 format CSV;", "CSV"),
        ("SELECT 1 FORMAT CSV -- end", "CSV"),
        ("SELECT 'FORMAT JSON'", None),
        ("SELECT format('{}', 1)", None),
    ],
)
def test_the_format_clause_is_found(sql: str, found: str | None) -> None:
    """The content type of an answer follows the statement's own FORMAT."""
    assert statements.format_of(sql) == found


def test_names_of_settings_cannot_carry_sql() -> None:
    """A name goes into a SET statement, so it is a name and nothing else."""
    with pytest.raises(ValueError, match="cannot be the name"):
        statements.setting_name("max_threads = 1, readonly")


def test_migrations_are_numbered_without_gaps() -> None:
    """The files are 001, 002, ... and each statement can be repeated."""
    found = migrations(clickhouse_migrations.__name__)
    assert [each.number for each in found] == list(range(1, len(found) + 1))
    assert all("IF NOT EXISTS" in statement for each in found for statement in each.statements)


def test_only_missing_migrations_are_applied() -> None:
    """What the ledger holds is not run again."""
    ran: list[str] = []

    def execute(statement: str) -> object:
        ran.append(statement)
        return "1,2" if statement.startswith("SELECT") else ""

    found = migrations(clickhouse_migrations.__name__)
    assert clickhouse_migrations.apply(execute) == [each.name for each in found if each.number > 2]
    assert not any("TABLE IF NOT EXISTS documents" in statement for statement in ran)
