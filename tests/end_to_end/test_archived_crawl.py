"""A crawl that is archived while it runs, and exported after it."""

import json
import os
import subprocess
from io import BytesIO
from pathlib import Path

import pytest
from fastwarc import ArchiveIterator, WarcRecordType
from product import ODRADEK, crawl, sql

from infra.settings import Settings
from sinks.objects import reading
from sinks.objects.formats import FORMATS
from sinks.objects.place import place_of
from sinks.tables import DOCUMENTS


def uris(archives: list[bytes]) -> list[str]:
    """The URI of every response that was a success."""
    return sorted(
        record.headers["WARC-Target-URI"]
        for data in archives
        for record in ArchiveIterator(BytesIO(data), record_types=WarcRecordType.response, parse_http=True)
        if record.http_headers.status_code == 200
    )


@pytest.mark.timeout(300)
def test_what_was_crawled_is_in_the_lake_the_archive_and_the_exports(tmp_path: Path) -> None:
    """The crawl ends when every store has everything: rows, Parquet, WARC and both exports hold the same pages."""
    stores = {
        "clickhouse": {},
        "lake": {"dsn": "objects:", "topics": ["documents"]},
        "archive": {"dsn": f"file://{tmp_path}/archive", "topics": ["pages"]},
    }
    with crawl(tmp_path, environment={"ODRADEK_SINKS__STORES": json.dumps(stores)}) as running:
        running.wait(240)
    wanted = sorted(row["url"] for row in sql(tmp_path, "SELECT url FROM documents"))
    lake = place_of(Settings(data_dir=tmp_path), "objects:")
    assert sorted(row["url"] for row in reading.rows(lake, DOCUMENTS, FORMATS["parquet"])) == wanted
    archive = place_of(Settings(), f"file://{tmp_path}/archive")
    assert uris([archive.get(name) for name in reading.archives(archive)]) == wanted
    environment = {name: value for name, value in os.environ.items() if name != "KAFKA_BOOTSTRAP_SERVERS"}
    for words in (("rows", "rows.jsonl"), ("pages", "pages")):
        command = [*ODRADEK, "export", *words[:1], str(tmp_path / words[1]), "--data-dir", str(tmp_path)]
        subprocess.run(command, check=True, env=environment, timeout=120)
    lines = (tmp_path / "rows.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["url"] for line in lines) == wanted
    assert uris([path.read_bytes() for path in tmp_path.glob("pages-*.warc.gz")]) == wanted
