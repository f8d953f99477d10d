"""The sink of objects against a folder and a real S3 interface: once, whole, and readable by others."""

import asyncio
import gzip
import json
import zlib
from io import BytesIO
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from fastwarc import ArchiveIterator as FastWarc
from fastwarc import WarcRecordType
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator as WarcIo

from infra.errors import NeverValid, RetryLater, UserError
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.spool import Spool
from schemas.records import Cut
from sinks.objects import reading
from sinks.objects.formats import FORMATS
from sinks.objects.layout import WINDOW
from sinks.objects.place import Place, place_of
from sinks.objects.sink import ObjectsSink
from sinks.sink import Block, Entry
from sinks.tables import DOCUMENTS
from tests.stores.moto import MotoServer
from tests.stores.servers import Servers
from tests.unit.sinks.sink_samples import block, block_of, document, page

Made = tuple[ObjectsSink, Place]


@pytest.fixture(params=["folder", "bucket"])
def made(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> Made:
    """A sink on an empty place, and the place."""
    dsn = "objects:" if request.param == "folder" else servers.moto.dsn(servers.moto.new_bucket())
    configured = Settings(data_dir=tmp_path)
    return ObjectsSink(configured, dsn), place_of(configured, dsn)


def write(sink: ObjectsSink, *blocks: Block) -> None:
    """Each block by a write of its own."""

    async def scenario() -> None:
        await sink.open()
        for each in blocks:
            await sink.write(each.topic, [each])

    asyncio.run(scenario())


def raw_rows(place: Place) -> list[tuple[str, int]]:
    """Every row of every object of documents, repeats too."""
    found = [
        (row["url"], row["kafka_offset"])
        for name in reading.objects(place, DOCUMENTS, "parquet")
        for row in FORMATS["parquet"].rows(DOCUMENTS, place.get(name))
    ]
    return sorted(found, key=lambda row: row[1])


def test_a_replay_makes_the_same_objects(made: Made) -> None:
    """The same blocks again change no object and add none."""
    sink, place = made
    blocks = [block(TopicName.DOCUMENTS, range(50)), block(TopicName.DOCUMENTS, range(50, 70))]
    write(sink, *blocks)
    before = {name: place.get(name) for name in place.walk("documents")}
    write(sink, *blocks)
    assert {name: place.get(name) for name in place.walk("documents")} == before
    assert len(before) == 2


def test_however_a_replay_is_cut_each_record_stands_in_one_object(made: Made) -> None:
    """Not even a reader that folds nothing sees a record twice."""
    sink, place = made
    cuts = [(0, 30), (30, 60), (0, 45), (10, 80), (79, 100), (0, 100)]
    write(sink, *(block(TopicName.DOCUMENTS, range(*cut)) for cut in cuts))
    assert [offset for _, offset in raw_rows(place)] == list(range(100))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)), min_size=1, max_size=8))
def test_any_cuts_write_each_record_once(tmp_path_factory: pytest.TempPathFactory, cuts: list[tuple[int, int]]) -> None:
    """Whatever runs of offsets come in whatever order: their union, once, across a border of windows too."""
    configured = Settings(data_dir=tmp_path_factory.mktemp("objects"))
    base = WINDOW - 20
    runs = [range(base + first, base + first + length) for first, length in cuts]
    write(ObjectsSink(configured, "objects:"), *(block(TopicName.DOCUMENTS, run) for run in runs))
    place = place_of(configured, "objects:")
    assert [offset for _, offset in raw_rows(place)] == sorted({offset for run in runs for offset in run})


def test_of_two_writers_at_once_one_makes_the_object(made: Made) -> None:
    """A writer that lost its partition and does not know it yet: the conditional put of the second changes nothing."""
    _, place = made
    assert place.create("documents/x", b"first")
    assert not place.create("documents/x", b"second")
    assert place.get("documents/x") == b"first"
    assert [each for each in place.walk("") if "." in each.rpartition("/")[2]] == []


def test_others_read_the_folder_as_one_table(tmp_path: Path) -> None:
    """Arrow's dataset finds the tables and their partitions by the names alone."""
    sink = ObjectsSink(Settings(data_dir=tmp_path), "objects:")
    write(sink, *(block(TopicName.DOCUMENTS, range(10 * each, 10 * each + 10), each) for each in range(3)))
    table = ds.dataset(tmp_path / "objects" / "documents", partitioning="hive").to_table()
    assert table.num_rows == 30
    assert set(table["partition"].to_pylist()) == {0, 1, 2}
    assert table.schema.field("fetched_at").type.tz == "UTC"


def test_a_write_that_was_cut_short_is_not_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed in the midst of a file nothing of it is there under its name, and the next write makes it whole."""
    sink = ObjectsSink(Settings(data_dir=tmp_path), "objects:")
    wanted = block(TopicName.DOCUMENTS, range(10))
    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", _power_cut)
        with pytest.raises(RetryLater):
            write(sink, wanted)
    place = place_of(Settings(data_dir=tmp_path), "objects:")
    assert place.walk("documents") == []
    write(sink, wanted)
    assert len(raw_rows(place)) == 10


def _power_cut(_descriptor: int) -> None:
    raise OSError(28, "No space left on device")


def pages(numbers: range, **changes: object) -> Block:
    """Raw pages at these offsets."""
    return Block(
        TopicName.PAGES, 0, tuple(Entry(each, page(each).model_copy(update=changes), None) for each in numbers)
    )


def archives(place: Place) -> list[tuple[str, bytes]]:
    """The archives that are whole."""
    return [(name, place.get(name)) for name in reading.archives(place)]


def test_raw_pages_are_an_archive_that_others_read(made: Made) -> None:
    """FastWARC finds every page with its date, its digests verified, its HTTP headers and its body as it came."""
    sink, place = made
    write(sink, pages(range(5)))
    [(name, data)] = archives(place)
    found = list(FastWarc(BytesIO(data), verify_digests=True, parse_http=False))
    assert [record.record_type for record in found] == [WarcRecordType.warcinfo] + [WarcRecordType.response] * 5
    for number, record in enumerate(FastWarc(BytesIO(data), record_types=WarcRecordType.response, parse_http=True)):
        wanted = page(number)
        assert record.headers["WARC-Target-URI"] == wanted.url
        assert record.headers["WARC-Date"] == f"2026-12-01T12:00:0{number}.00000{number}Z"
        assert record.http_headers.status_code == 200
        assert record.http_headers["X-Crawl-Transfer-Encoding"] == "chunked"
        assert gzip.decompress(record.reader.read()) == b"<p>page %d</p>" % number
    assert name.endswith(".warc.gz")


def test_another_reader_agrees_and_finds_what_the_index_says(made: Made) -> None:
    """A second reader, warcio, reads the same, and each line of the index leads to its record alone."""
    sink, place = made
    write(sink, pages(range(4)))
    [(name, data)] = archives(place)
    assert [each.rec_type for each in WarcIo(BytesIO(data), check_digests="raise")] == ["warcinfo"] + ["response"] * 4
    lines = place.get(name.replace(".warc.gz", ".cdxj")).decode().splitlines()
    assert lines == sorted(lines)
    for line in lines:
        key, stamp, text = line.split(" ", 2)
        fields = json.loads(text)
        assert (key[:5], stamp[:8], fields["mime"], fields["status"]) == ("test,", "20261201", "text/html", "200")
        assert fields["filename"] == name
        start = int(fields["offset"])
        member = data[start : start + int(fields["length"])]
        assert f"WARC-Target-URI: {fields['url']}\r\n".encode() in zlib.decompress(member, 31)


def test_a_replay_of_raw_pages_adds_no_capture(made: Made) -> None:
    """However it is cut; and an archive whose index was not written yet is made anew, the same."""
    sink, place = made
    write(sink, pages(range(6)), pages(range(6)), pages(range(3, 9)))
    captures = [
        record.headers["WARC-Record-ID"]
        for _, data in archives(place)
        for record in FastWarc(BytesIO(data), record_types=WarcRecordType.response)
    ]
    assert len(captures) == len(set(captures)) == 9


def test_an_archive_without_its_index_does_not_count(tmp_path: Path) -> None:
    """A writer that died between the two writes both again, with the same bytes."""
    configured = Settings(data_dir=tmp_path)
    sink, place = ObjectsSink(configured, "objects:"), place_of(configured, "objects:")
    write(sink, pages(range(3)))
    [(name, data)] = archives(place)
    index = tmp_path / "objects" / name.replace(".warc.gz", ".cdxj")
    kept = index.read_bytes()
    index.unlink()
    assert archives(place) == []
    write(sink, pages(range(3)))
    assert archives(place) == [(name, data)]
    assert index.read_bytes() == kept


def test_a_body_that_lies_in_the_spool_is_archived(tmp_path: Path) -> None:
    """The reference is followed; one that leads nowhere speaks against its page alone."""
    configured = Settings(data_dir=tmp_path)
    sink, place = ObjectsSink(configured, "objects:"), place_of(configured, "objects:")
    reference = Spool(configured).put(b"large body")
    write(sink, pages(range(1), body=b"", body_at=reference, cut=Cut.LENGTH))
    [(_, data)] = archives(place)
    record = next(iter(FastWarc(BytesIO(data), record_types=WarcRecordType.response)))
    assert record.reader.read() == b"large body"
    assert record.headers["WARC-Truncated"] == "length"
    with pytest.raises(NeverValid, match="no body"):
        write(sink, pages(range(1, 2), body=b"", body_at="0" * 64))


def test_a_bucket_that_is_not_there_is_told_to_the_user(servers: Servers) -> None:
    """At the start, without the secrets of the DSN."""
    with pytest.raises(UserError) as caught:
        write(ObjectsSink(Settings(), servers.moto.dsn("no-such-bucket")), block(TopicName.DOCUMENTS, range(1)))
    assert "hush" not in str(caught.value)


def test_a_bucket_that_is_away_is_waited_for(tmp_path: Path) -> None:
    """Killed, its writes are trouble; when it is back they go on."""
    server = MotoServer()
    try:
        server.start()
        bucket = server.new_bucket()
        sink = ObjectsSink(Settings(data_dir=tmp_path), server.dsn(bucket))
        write(sink, block(TopicName.DOCUMENTS, range(5)))
        server.kill()
        with pytest.raises(RetryLater, match="did not take the rows"):
            write(sink, block(TopicName.DOCUMENTS, range(5, 10)))
        server.start()
        server.new_bucket(bucket)
        write(sink, block(TopicName.DOCUMENTS, range(5, 10)))
        place = place_of(Settings(), server.dsn(bucket))
        assert [offset for _, offset in raw_rows(place)] == list(range(5, 10))
    finally:
        server.remove()


def test_poison_is_isolated(made: Made) -> None:
    """A record that no format can hold is told as such, and its neighbours go in without it."""
    sink, place = made
    poison = document(5, title="\ud83d")
    with pytest.raises(NeverValid, match="title"):
        write(sink, block_of(TopicName.DOCUMENTS, document(4), poison, first=4))
    write(sink, block_of(TopicName.DOCUMENTS, document(4), first=4))
    assert [offset for _, offset in raw_rows(place)] == [4]
