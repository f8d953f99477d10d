"""The tables as data, and the pure decisions that all stores share."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.errors import NeverValid, RetryLater, UserError
from infra.kafka.topics import TopicName
from infra.settings.sinks import StoreSettings
from schemas.records import Cut
from sinks.dsn import scheme, scrubbed, secrets, shown
from sinks.judging import Verdict, open_failure, write_failure
from sinks.keys import row_key
from sinks.migrations import parse
from sinks.selection import Selection
from sinks.tables import TABLES, Type, columns, folded
from sinks.tally import Tally, together
from tests.unit.sinks.sink_samples import MAKERS, NOON, block, block_of, document

TOPICS = list(TABLES)


@pytest.mark.parametrize("topic", TOPICS)
def test_every_field_of_a_record_has_its_column(topic: TopicName) -> None:
    """Nothing of a record is lost on the way to its row; the body of a robots.txt alone stays in its own topic."""
    assert set(type(MAKERS[topic](0, "x")).model_fields) - {"body", "body_hash"} <= set(TABLES[topic].names)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_table_names_its_own_columns(topic: TopicName) -> None:
    """Key, version and time are columns, each column stands once, and the values come in the order of the names."""
    table = TABLES[topic]
    assert {*table.key, table.version, table.time} <= set(table.names)
    assert len(set(table.names)) == len(table.names) == len(table.types)
    assert tuple(columns(table, [block(topic, range(2))])) == table.names


@pytest.mark.parametrize("topic", TOPICS)
def test_the_key_of_a_table_tells_rows_apart_as_the_key_of_records_does(topic: TopicName) -> None:
    """Two records share a row where their keys are equal, and nowhere else."""
    records = [MAKERS[topic](number % 7, crawl) for number in range(14) for crawl in ("a", "b")]
    found = columns(TABLES[topic], [block_of(topic, *records)])
    keys = list(zip(*(found[name] for name in TABLES[topic].key), strict=True))
    by_record = [row_key(record) for record in records]
    assert [keys.index(key) for key in keys] == [by_record.index(key) for key in by_record]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5))))
def test_of_one_key_the_latest_version_stays(written: list[tuple[int, int]]) -> None:
    """Folding keeps each key once, with its latest version, the first of equal ones."""
    records = [document(number, cleaned_at=NOON + timedelta(seconds=second)) for number, second in written]
    table = TABLES[TopicName.DOCUMENTS]
    rows = folded(table, [block_of(TopicName.DOCUMENTS, *records)])
    url, version, offset = (table.names.index(name) for name in ("url", "cleaned_at", "kafka_offset"))
    expected = {}
    for place, record in sorted(enumerate(records), key=lambda each: (each[1].cleaned_at, -each[0])):
        expected[record.url] = (record.cleaned_at, place)
    assert {row[url]: (row[version], row[offset]) for row in rows} == expected
    assert len(rows) == len(expected)


def test_words_of_an_enumeration_are_plain_text() -> None:
    """A client that asks a value for its exact type sees text."""
    found = columns(TABLES[TopicName.DOCUMENTS], [block_of(TopicName.DOCUMENTS, document(0, cut=Cut.TIME))])
    assert [type(value) for value in found["cut"]] == [str]


def test_a_value_that_fits_no_column_is_named() -> None:
    """The bad column stands in the dead letter, for whoever looks for the cause."""
    broken = block_of(TopicName.DOCUMENTS, document(0, url_id=b"short"))
    with pytest.raises(NeverValid, match="column url_id"):
        columns(TABLES[TopicName.DOCUMENTS], [broken])
    with pytest.raises(NeverValid, match="column fetched_at: no such time"):
        columns(TABLES[TopicName.DOCUMENTS], [block_of(TopicName.DOCUMENTS, document(0))], {Type.TIME: _refuse})


def _refuse(_value: object) -> object:
    raise ValueError("no such time")


DSNS = [
    ("postgresql://me:s3cret@db.test:5432/crawl?sslmode=require", "postgresql://db.test:5432/crawl"),
    ("postgresql://me:s3cret@a.test,b.test/crawl", "postgresql://a.test,b.test/crawl"),
    ("redis://:s3cret@[::1]:6379/0", "redis://[::1]:6379/0"),
    ("s3://bucket/prefix?secret_access_key=s3cret", "s3://bucket/prefix"),
    ("postgresql://db.test/crawl?password=s3cret", "postgresql://db.test/crawl"),
    ("postgresql://me:s%33cret@db.test:not-a-port/", "postgresql://db.test:not-a-port/"),
    ("sqlite:/var/lib/rows.db", "sqlite:/var/lib/rows.db"),
    ("memory:", "memory:"),
]


@pytest.mark.parametrize(("dsn", "seen"), DSNS)
def test_a_dsn_is_shown_without_what_is_secret(dsn: str, seen: str) -> None:
    """No user, password or option of a DSN is shown, and an error that repeats them is scrubbed."""
    assert shown(dsn) == seen
    assert scheme(dsn) == dsn[: dsn.index(":")]
    assert scrubbed(f"cannot open {dsn}", dsn) == f"cannot open {seen}"
    assert [scrubbed(f"no {secret}!", dsn) for secret in secrets(dsn)] == ["no ***!"] * len(secrets(dsn))
    assert ("s3cret" in secrets(dsn)) == ("cret" in dsn)


def test_what_follows_from_a_verdict() -> None:
    """Trouble waits, a bad row is never valid, and a refused user is told when the store is opened, without secrets."""
    dsn, error = "kind://me:s3cret@host/db", ValueError("s3cret\nmore")
    trouble = write_failure(Verdict.TROUBLE, error, dsn)
    row = write_failure(Verdict.ROW, error, dsn)
    assert isinstance(trouble, RetryLater)
    assert isinstance(row, NeverValid)
    assert row.reason == "refused_by_store"
    assert isinstance(write_failure(Verdict.REFUSED, error, dsn), RetryLater)
    assert isinstance(open_failure(Verdict.TROUBLE, error, dsn), RetryLater)
    assert isinstance(open_failure(Verdict.REFUSED, error, dsn), UserError)
    told = [trouble, row, open_failure(Verdict.TROUBLE, error, dsn), open_failure(Verdict.REFUSED, error, dsn)]
    assert not any("s3cret" in str(each) or "me:" in str(each) or "\n" in str(each) for each in told)


@pytest.mark.parametrize(
    ("settings", "admitted"),
    [
        (StoreSettings(), True),
        (StoreSettings(crawls=("test",)), True),
        (StoreSettings(crawls=("other",)), False),
        (StoreSettings(hosts=("h1.test",)), True),
        (StoreSettings(hosts=("*.test",)), True),
        (StoreSettings(hosts=("*.h1.test",)), False),
        (StoreSettings(hosts=("1.test", "*.other")), False),
        (StoreSettings(languages=("de", "en")), True),
        (StoreSettings(languages=("de",)), False),
        (StoreSettings(crawls=("test",), hosts=("h2.test",)), False),
    ],
)
def test_a_store_is_given_what_was_selected(settings: StoreSettings, admitted: bool) -> None:
    """Every condition that is set has to hold; offsets of what is left keep their order."""
    selection = Selection(settings)
    assert selection.admits(document(1)) is admitted
    [found] = selection.of([block(TopicName.DOCUMENTS, range(1, 40, 3))])
    assert [entry.offset for entry in found.entries] == (list(range(1, 40, 3)) if admitted else [])


def test_a_host_is_selected_with_any_port_and_a_language_concerns_documents_alone() -> None:
    """A host with a port of its own is the host too, unless the port is named; fetches have no language."""
    assert Selection(StoreSettings(hosts=("h1.test",))).admits(document(1, host="h1.test:8080"))
    assert not Selection(StoreSettings(hosts=("h1.test:80",))).admits(document(1, host="h1.test:8080"))
    assert Selection(StoreSettings(hosts=("[::1]",))).admits(document(1, host="[::1]:8080"))
    assert Selection(StoreSettings(languages=("de",))).admits(MAKERS[TopicName.FETCHES](1, "test"))


def test_figures_of_several_stores_are_those_of_the_last_one_to_have_them() -> None:
    """Rows are what every store has that takes the topic; the latency is the slowest store's."""
    fast, slow = Tally([TopicName.DOCUMENTS, TopicName.FETCHES]), Tally([TopicName.DOCUMENTS])
    assert fast.wrote(TopicName.DOCUMENTS, [block(TopicName.DOCUMENTS, range(10))], NOON + timedelta(seconds=30)) == 10
    fast.wrote(TopicName.FETCHES, [block(TopicName.FETCHES, range(5))], NOON)
    slow.held({"documents": 3})
    slow.wrote(TopicName.DOCUMENTS, [block(TopicName.DOCUMENTS, range(4))], NOON + timedelta(seconds=90))
    found = together([fast.counts(), slow.counts()])
    assert (found["rows_documents"], found["rows_fetches"]) == (7, 5)
    assert found["fetch_to_row_p50_ms"] == slow.counts()["fetch_to_row_p50_ms"]
    assert together([]) == {}


def test_a_migration_may_hold_several_statements() -> None:
    """Statements end with a semicolon at the end of a line; one inside a string is part of it."""
    parsed = parse("007_a_name.sql", "-- why; because\nSELECT ';x';\n\nSELECT 2;\n")
    assert parsed == (7, "a_name", ("SELECT ';x'", "SELECT 2"))
