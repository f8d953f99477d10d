"""What objects are called, and what of a block goes into which."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.errors import UserError
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.settings.sinks import StoreSettings
from sinks.json_rows import iso
from sinks.objects.cdxj import surt
from sinks.objects.formats import FORMATS
from sinks.objects.layout import WINDOW, Span, folder, name, span, span_of, windows
from sinks.objects.place import place_of
from sinks.stores import make_sink
from sinks.tables import DOCUMENTS, TABLES, columns, newest
from tests.unit.sinks.sink_samples import NOON, block, block_of, document


def test_a_name_tells_the_offsets() -> None:
    """Table, partition, window, first and last offset, and a fingerprint of the records."""
    part = block(TopicName.DOCUMENTS, range(7, 10), 3)
    found = name(DOCUMENTS, part, "parquet")
    assert found.startswith(f"documents/partition=3/{0:020}/{7:020}-{9:020}-")
    assert span_of(found, "parquet") == Span(7, 9) == span(part)
    assert name(DOCUMENTS, block(TopicName.DOCUMENTS, range(7, 10), 3, crawl="other"), "parquet") != found


@pytest.mark.parametrize(
    "foreign", ["x/README.md", "x/1-2.parquet", "x/1-2-3.jsonl.gz", "x/a-b-c.parquet", "x/.1-2-3.parquet", "x/1-2-3"]
)
def test_what_is_not_ours_is_passed_over(foreign: str) -> None:
    """Other files in the folder do no harm."""
    assert span_of(foreign, "parquet") is None


@given(st.sets(st.integers(0, 5 * WINDOW), min_size=1, max_size=30))
def test_no_object_spans_two_windows(offsets: set[int]) -> None:
    """The parts of a block hold all its records in order, each part in one folder, no two in the same."""
    whole = block_of(TopicName.DOCUMENTS, document(0))
    entry = whole.entries[0]
    whole = whole._replace(entries=tuple(entry._replace(offset=each) for each in sorted(offsets)))
    parts = list(windows(whole))
    assert [each.offset for part in parts for each in part.entries] == sorted(offsets)
    assert len({folder(DOCUMENTS, part) for part in parts}) == len(parts)
    assert all(span(part).first // WINDOW == span(part).last // WINDOW for part in parts)


@given(st.tuples(st.integers(0, 20), st.integers(0, 20)), st.tuples(st.integers(0, 20), st.integers(0, 20)))
def test_spans_overlap_when_they_share_an_offset(one: tuple[int, int], other: tuple[int, int]) -> None:
    """Both ends belong to a span."""
    first, second = Span(*sorted(one)), Span(*sorted(other))
    shared = set(range(first.first, first.last + 1)) & set(range(second.first, second.last + 1))
    assert first.overlaps(second) is bool(shared)


@pytest.mark.parametrize("format_", FORMATS.values(), ids=list(FORMATS))
@pytest.mark.parametrize("topic", TABLES)
def test_rows_survive_their_format(topic: TopicName, format_: object) -> None:
    """Every column of every table comes back as it was; the same rows are the same bytes."""
    made = FORMATS["parquet"] if format_ is FORMATS["parquet"] else FORMATS["jsonl"]
    table = TABLES[topic]
    found = columns(table, [block(topic, range(20))])
    data = made.encode(table, found)
    assert data == made.encode(table, found)
    assert [tuple(row.values()) for row in made.rows(table, data)] == list(zip(*found.values(), strict=True))
    assert list(made.versions(table, data).values()) == found[table.version]


def test_what_a_store_knows_is_not_written_again() -> None:
    """Of each key the latest row stays, and only if it is later than the one that is known."""
    found = {"crawl": "aaab", "url_id": "1123", "visit": "0000", "cleaned_at": [1, 2, 1, 1]}
    assert newest(DOCUMENTS, found) == [1, 2, 3]
    assert newest(DOCUMENTS, found, {("a", "1", "0"): 2, ("a", "2", "0"): 0}) == [2, 3]


def test_a_number_that_is_none_is_nothing_in_json() -> None:
    """JSON has neither NaN nor Infinity; times are all as wide as each other."""
    table = DOCUMENTS
    found = columns(table, [block_of(TopicName.DOCUMENTS, document(0, link_density=float("nan")))])
    [row] = FORMATS["jsonl"].rows(table, FORMATS["jsonl"].encode(table, found))
    assert row["link_density"] is None
    assert iso(NOON.replace(year=7)) == "0007-12-01T12:00:00.000000+00:00"


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://www.Example.org/", "org,example)/"),
        ("https://example.org:8443/A/b/?z=1&a=2", "org,example:8443)/a/b?a=2&z=1"),
        ("http://www2.example.org/x%20y", "org,example)/x%20y"),
        ("http://192.0.2.1/", "192.0.2.1)/"),
        ("http://[2001:db8::1]:81/x", "2001:db8::1:81)/x"),
    ],
)
def test_an_index_sorts_by_host_backwards(url: str, key: str) -> None:
    """The form by which archives look a URL up."""
    assert surt(url) == key


@pytest.mark.parametrize(
    ("dsn", "said"),
    [
        ("file://relative/path", "three slashes"),
        ("s3://bucket?regoin=x", "no option 'regoin'"),
        ("objects:?format=csv", "no format 'csv'"),
    ],
)
def test_a_dsn_that_cannot_be_is_told(dsn: str, said: str) -> None:
    """The user learns which part of it."""
    with pytest.raises(UserError, match=said):
        make_sink("x", StoreSettings(dsn=dsn), Settings())


def test_a_store_of_rows_is_given_no_raw_pages() -> None:
    """It is said at the start, with the kinds that take them."""
    with pytest.raises(UserError, match="raw pages; kinds that can: az, file"):
        make_sink("x", StoreSettings(dsn="sqlite:", topics=("pages",)), Settings())


def test_a_place_shows_no_secret() -> None:
    """A mistake in a DSN does not repeat its password."""
    with pytest.raises(UserError) as caught:
        place_of(Settings(), "s3://bucket?secret_access_key=hush&nonsense=1")
    assert "hush" not in str(caught.value)
