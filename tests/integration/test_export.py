"""Exports of what really stands in ClickHouse and Kafka."""

import asyncio
import csv
import gzip
import json
import zlib
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from uuid import uuid4

import pyarrow.parquet as pq
import pytest
from fastwarc import ArchiveIterator, WarcRecordType
from typer.testing import CliRunner

from infra.cli import build
from infra.errors import UserError
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.spool import Spool
from schemas.wire import encode
from sinks.clickhouse.sink import ClickHouseSink
from sinks.export.pages import Archives, Tally
from sinks.export.rows import Range, slices
from sinks.tables import DOCUMENTS
from tests.conftest import PARTITIONS
from tests.unit.sinks.sink_samples import NOON, block_of, document, page

COUNT = 40


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory whose ClickHouse holds documents, two to each second, and a newer version of the first."""
    data_dir = tmp_path_factory.mktemp("export")

    async def scenario() -> None:
        sink = ClickHouseSink(Settings(data_dir=data_dir), "clickhouse:")
        await sink.open()
        records = [
            document(each, title=f"=title {each}", fetched_at=NOON + timedelta(seconds=each // 2))
            for each in range(COUNT)
        ]
        newer = records[0].model_copy(update={"text": "newer", "cleaned_at": NOON + timedelta(days=1)})
        await sink.write(TopicName.DOCUMENTS, [block_of(TopicName.DOCUMENTS, *records, newer)])
        await sink.close()

    asyncio.run(scenario())
    return data_dir


def export(*words: str, bootstrap: str = "") -> str:
    """What the command says."""
    done = CliRunner(env={"KAFKA_BOOTSTRAP_SERVERS": bootstrap or None}).invoke(build("export"), ["export", *words])
    if done.exception is not None:
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def test_a_table_is_exported_whole(filled: Path, tmp_path: Path) -> None:
    """Each row once, the newest version of it, with lists and maps."""
    target = tmp_path / "all.parquet"
    assert "40 rows" in export("rows", str(target), "--data-dir", str(filled))
    found = {row["url"]: row for row in pq.read_table(target).to_pylist(maps_as_pydicts="strict")}
    assert len(found) == COUNT
    assert found[document(0).url]["text"] == "newer"
    assert found[document(3).url]["links"] == document(3).links
    assert found[document(3).url]["sources"] == document(3).sources


def test_a_time_range_is_exported(filled: Path, tmp_path: Path) -> None:
    """From its beginning to before its end; and of one host."""
    since, until = NOON + timedelta(seconds=5), NOON + timedelta(seconds=7)
    words = ("--since", since.isoformat(), "--until", until.isoformat(), "--data-dir", str(filled))
    export("rows", str(tmp_path / "some.jsonl"), *words)
    lines = [json.loads(line) for line in (tmp_path / "some.jsonl").read_text().splitlines()]
    assert [each["url"] for each in sorted(lines, key=lambda row: row["kafka_offset"])] == [
        document(each).url for each in range(10, 14)
    ]
    export("rows", str(tmp_path / "host.jsonl"), *words, "--host", "H1.test")
    assert {json.loads(line)["host"] for line in (tmp_path / "host.jsonl").read_text().splitlines()} == {"h1.test"}


def test_the_answer_of_a_statement_is_exported(filled: Path, tmp_path: Path) -> None:
    """As CSV that no spreadsheet computes."""
    target = tmp_path / "titles.csv.gz"
    sql = "SELECT title, count() AS pages FROM documents GROUP BY title ORDER BY title LIMIT 1"
    export("rows", str(target), "--sql", sql, "--data-dir", str(filled))
    rows = list(csv.reader(gzip.decompress(target.read_bytes()).decode().splitlines()))
    assert rows == [["title", "pages"], ["'=title 0", "1"]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--sql", "DROP TABLE documents"), "begins no statement that reads"),
        (("--sql", "SELECT nonsense"), "nonsense"),
        (("--sql", "SELECT 1 FORMAT CSV"), "leave FORMAT CSV out"),
        (("--sql", "SELECT 1", "--host", "h"), "says itself which rows"),
        (("--table", "secrets"), "documents, fetches, decisions"),
    ],
)
def test_a_mistake_leaves_no_file(filled: Path, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """The user learns what is wrong."""
    with pytest.raises(UserError, match=said):
        export("rows", str(tmp_path / "x.parquet"), *words, "--data-dir", str(filled))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 39, 40, 41])
def test_slices_hold_each_row_once(filled: Path, rows: int) -> None:
    """However many rows a slice has: those of one and the same time are never parted."""
    parts = list(slices(Settings(data_dir=filled), DOCUMENTS, Range(), rows))
    urls = [url for part in parts for url in part["url"].to_pylist()]
    assert sorted(urls) == sorted(document(each).url for each in range(COUNT))
    assert len(parts) >= COUNT // (rows + 1)


def test_an_empty_range_is_a_file_without_rows(filled: Path, tmp_path: Path) -> None:
    """Programs that read it find the columns."""
    export("rows", str(tmp_path / "none.parquet"), "--crawl", "none", "--data-dir", str(filled))
    found = pq.read_table(tmp_path / "none.parquet")
    assert (found.num_rows, "url" in found.column_names) == (0, True)


@pytest.fixture
def crawled(kafka_settings: Settings, tmp_path: Path) -> tuple[Settings, str]:
    """Raw pages of a crawl in Kafka: one twice, one whose body is in the spool, one whose body is gone, and poison."""
    crawl = f"crawl-{uuid4().hex[:12]}"
    settings = kafka_settings.model_copy(update={"data_dir": tmp_path})
    large = Spool(settings).put(b"large body")
    pages = [page(each, crawl) for each in range(30)]
    pages += [
        pages[3],
        page(30, crawl).model_copy(update={"body": b"", "body_at": large}),
        page(31, crawl).model_copy(update={"body": b"", "body_at": "0" * 64}),
    ]
    records = [Outbound(TopicName.PAGES, each.url_id, encode(each)) for each in pages]
    records.append(Outbound(TopicName.PAGES, b"x", b"poison"))
    assert Producer(settings, "test").send_all(records, timedelta(seconds=30)) == []
    return settings, crawl


def captures(folder: Path) -> dict[str, bytes]:
    """URL and body of every response in the archives of a folder."""
    return {
        record.headers["WARC-Target-URI"]: record.reader.read()
        for path in sorted(folder.glob("*.warc.gz"))
        for record in ArchiveIterator(BytesIO(path.read_bytes()), record_types=WarcRecordType.response)
    }


def test_raw_pages_are_exported_as_archives(crawled: tuple[Settings, str], tmp_path: Path) -> None:
    """Each page once, over several files, and each line of the index leads to its record."""
    settings, crawl = crawled
    said = export(
        "pages", str(tmp_path / "out" / "crawl"), "--crawl", crawl, "--data-dir", str(tmp_path),
        bootstrap=str(settings.kafka_bootstrap_servers),
    )  # fmt: skip
    assert "31 pages in 1 archives" in said
    found = captures(tmp_path / "out")
    assert len(found) == 31
    assert found[page(30).url] == b"large body"
    assert gzip.decompress(found[page(7).url]) == b"<p>page 7</p>"
    for line in (tmp_path / "out" / "crawl.cdxj").read_text().splitlines():
        fields = json.loads(line.split(" ", 2)[2])
        data = (tmp_path / "out" / fields["filename"]).read_bytes()[int(fields["offset"]) :]
        member = zlib.decompress(data[: int(fields["length"])], 31)
        assert f"WARC-Target-URI: {fields['url']}\r\n".encode() in member


def test_archives_are_cut_by_size(
    crawled: tuple[Settings, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next file begins where one is large enough; together they hold everything once."""
    settings, crawl = crawled
    monkeypatch.setattr("sinks.export.pages._CHUNK_PAGES", 5)
    archives = Archives(settings, tmp_path / "cut" / "c", file_bytes=3_000)
    archives.write(PARTITIONS, Range(crawl=crawl), lambda _tally: None)
    assert archives.tally.files > 2
    assert (archives.tally.pages, archives.tally.repeats) == (31, 1)
    assert archives.tally.unreadable >= 2
    assert len(captures(tmp_path / "cut")) == 31


def test_pages_of_a_time_range_are_exported(crawled: tuple[Settings, str], tmp_path: Path) -> None:
    """By the time of the record: nothing before it, nothing from its end on."""
    settings, crawl = crawled
    now = datetime.now(UTC)

    def exported(range_: Range, name: str) -> Tally:
        archives = Archives(settings, tmp_path / name / "c")
        archives.write(PARTITIONS, range_, lambda _tally: None)
        return archives.tally

    hour = timedelta(hours=1)
    assert exported(Range(now - hour, now + hour, crawl), "present").pages == 31
    assert exported(Range(now + hour, None, crawl), "future").pages == 0
    assert exported(Range(None, now - hour, crawl), "past").pages == 0
