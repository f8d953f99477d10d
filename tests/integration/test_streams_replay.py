"""``odradek replay`` on a real Kafka and the real engine: cleaned anew, compared, promoted or dropped."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from schemas.records import Document, Page
from schemas.url import url_id
from schemas.wire import encode
from sinks.clickhouse.sink import ClickHouseSink
from streams.clean import VERSION, clean
from tests.unit.sinks.sink_running import during_a_crawl
from tests.unit.sinks.sink_samples import block_of

COUNT = 30
RULES = "[shop]\nhosts = ['{host}']\nfields.price.css = 'b'\nfields.price.type = 'integer'\n"


@dataclass
class Scene:
    """Pages of one crawl in Kafka, and documents of an older cleaner in the embedded engine."""

    settings: Settings
    data_dir: Path
    mark: str
    between: datetime
    """A moment after the first ten pages and before the others."""

    def odradek(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """The command, on this Kafka and this directory."""
        return subprocess.run(
            [sys.executable, "-m", "infra.cli", *arguments, "--data-dir", str(self.data_dir)],
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
            env=os.environ | {"KAFKA_BOOTSTRAP_SERVERS": self.settings.kafka_bootstrap_servers or ""},
        )

    def json(self, *arguments: str) -> Any:
        """What a command that succeeds prints as JSON."""
        done = self.odradek(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def rows(self, columns: str) -> list[dict[str, Any]]:
        """The documents."""
        done = self.odradek("sql", f"SELECT {columns} FROM documents ORDER BY url", "--format", "JSONEachRow")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


def page(mark: str, number: int) -> Page:
    """A page with a title, a price and a sentence."""
    url = f"http://{mark}.test/{number:02}"
    return Page(
        fetch_id=f"{mark}-{number}", crawl=mark, url=url, url_id=url_id(url), host=f"{mark}.test", visit=0, depth=1,
        hops=0, parent=None, fetched_at=datetime(2026, 11, 1, tzinfo=UTC), status=200,
        head=b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n", cut=None,
        body=f"<title>Page {number}</title><p>The sentence of page {number}.</p><b>{number}</b>".encode(),
    )  # fmt: skip


def produce(settings: Settings, pages: Sequence[Page], rubbish: Sequence[bytes] = ()) -> None:
    """Pages, as fetchers leave them."""
    records = [Outbound(TopicName.PAGES, each.url_id, encode(each)) for each in pages]
    records += [Outbound(TopicName.PAGES, b"rubbish", each) for each in rubbish]
    asyncio.run(Producer(settings, "test").deliver(records))


def store(data_dir: Path, documents: Sequence[Document]) -> None:
    """Rows, as a crawl leaves them."""

    async def write() -> None:
        sink = ClickHouseSink(Settings(data_dir=data_dir), "clickhouse:")
        await sink.open()
        await sink.write(TopicName.DOCUMENTS, [block_of(TopicName.DOCUMENTS, *documents)])
        await sink.close()

    asyncio.run(write())


@pytest.fixture(scope="module")
def scene(kafka_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Of thirty pages the old cleaner lost one, made half a title of three and no text of two."""
    mark = f"r{uuid4().hex[:10]}"
    pages = [page(mark, number) for number in range(COUNT)]
    produce(kafka_settings, pages[:10])
    time.sleep(0.05)
    between = datetime.now(UTC)
    time.sleep(0.05)
    produce(kafka_settings, [*pages[10:], page("other", 1)], [b"no page"])
    old = [clean(each, "odradek", obey=True, now=datetime(2026, 11, 1, 1, tzinfo=UTC)).document for each in pages]
    changes: dict[int, dict[str, object]] = {number: {"title": f"Page {number} | Site"} for number in (1, 2, 20)}
    changes |= {number: {"text": "", "words": 0} for number in (3, 4)}
    made = [each.model_copy(update=changes.get(number, {}) | {"cleaner": "old/1"}) for number, each in enumerate(old)]
    data_dir = tmp_path_factory.mktemp("replay")
    store(data_dir, made[:-1])
    return Scene(kafka_settings, data_dir, mark, between)


def test_a_replay_tells_what_differs_and_changes_nothing(scene: Scene) -> None:
    """Counts and samples for each field, rows that are missing, records that are no page; then it can be dropped."""
    found = scene.json("replay", "--crawl", scene.mark, "--name", "one", "--samples", "2")
    assert found["replayed"]["cleaned"] == COUNT
    assert found["replayed"]["read"] >= COUNT + 2
    assert found["replayed"]["unreadable"] >= 1
    assert (found["rows"], found["without_row"], found["same"]) == (COUNT, 1, COUNT - 6)
    told = {each["field"]: (each["changed"], each["appeared"], each["vanished"]) for each in found["differences"]}
    assert told == {"title": (3, 0, 0), "text": (2, 2, 0), "words": (2, 2, 0)}
    [title] = [each["samples"] for each in found["differences"] if each["field"] == "title"]
    assert [(each["before"], each["now"]) for each in title] == [
        ("Page 1 | Site", "Page 1"),
        ("Page 2 | Site", "Page 2"),
    ]
    assert {row["cleaner"] for row in scene.rows("cleaner")} == {"old/1"}
    assert [each["name"] for each in scene.json("replay", "list")] == ["one"]
    for_people = scene.odradek("replay", "compare", "one", "--samples", "1")
    assert "title: 3 differ, 0 appeared, 0 vanished" in for_people.stdout
    assert "  - Page 1 | Site\n  + Page 1\n" in for_people.stdout
    assert scene.odradek("replay", "drop", "one").stdout == "dropped one\n"
    assert scene.json("replay", "list") == []


def test_a_promoted_replay_takes_the_place_of_the_rows(scene: Scene, tmp_path: Path) -> None:
    """Only pages since a moment, with other rules; the rows are then those of the new cleaner, each once."""
    rules = tmp_path / "rules.toml"
    rules.write_text(RULES.format(host=f"{scene.mark}.test"))
    since = ["--since", scene.between.isoformat(), "--crawl", scene.mark]
    found = scene.json("replay", *since, "--rules", str(rules), "--cleaner", VERSION, "--name", "two")
    assert (found["rows"], found["without_row"]) == (20, 1)
    told = {each["field"]: each["appeared"] for each in found["differences"]}
    assert told == {"extracted": 19, "sources": 19, "title": 0}
    assert scene.odradek("replay", "promote", "two").stdout == "promoted two: 20 documents\n"
    rows = scene.rows("title, cleaner, extracted.price.:Int64 AS price, length(trace_id) AS trace")
    assert [row["price"] for row in rows] == [None] * 10 + list(range(10, COUNT))
    assert [row["cleaner"] for row in rows] == ["old/1"] * 10 + [VERSION] * 20
    assert rows[20]["title"] == "Page 20"
    assert rows[20]["trace"] == 32
    assert scene.json("replay", "list") == []
    until = scene.json("replay", "--until", scene.between.isoformat(), "--crawl", scene.mark, "--name", "three")
    assert until["rows"] == 10
    scene.odradek("replay", "drop", "three")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["replay", "--cleaner", "blocks/0"], f"cleans as {VERSION}, not blocks/0"),
        (["replay", "--since", "yesterday"], "no ISO 8601 time"),
        (["replay", "--name", "No Name"], "no name for a replay"),
        (["replay", "promote", "none"], "there is no replay 'none'"),
        (["replay", "drop", "x; DROP TABLE documents"], "no name for a replay"),
    ],
)
def test_a_replay_that_cannot_be_gets_one_line(scene: Scene, arguments: list[str], said: str) -> None:
    """Exit code 2, what is wrong, and nothing was made."""
    done = scene.odradek(*arguments)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert said in done.stderr


def test_a_running_crawl_keeps_its_engine(tmp_path: Path, kafka_settings: Settings) -> None:
    """Where the owner's door only reads, a replay says how it can be had."""

    def visit(url: str) -> None:
        del url
        scene = Scene(kafka_settings, tmp_path, "x", datetime.now(UTC) - timedelta(hours=1))
        done = scene.odradek("replay", "--name", "x")
        assert done.returncode == 2
        assert "its door only reads" in done.stderr

    during_a_crawl(tmp_path, visit)
