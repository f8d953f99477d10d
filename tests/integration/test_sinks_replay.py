"""A store is given again what Kafka has kept: the same store or another one, and nothing doubles."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition
from typer.testing import CliRunner

from infra.cli import build
from infra.errors import UserError
from infra.kafka.clients import consumer_config
from infra.kafka.lag import LagReader, Place
from infra.kafka.partition_reader import records_between
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from schemas.letters import DeadLetter
from schemas.wire import Undecodable, decode, encode
from sinks.objects import reading
from sinks.objects.formats import FORMATS
from sinks.objects.place import place_of
from sinks.stores import group
from sinks.tables import DOCUMENTS
from tests.conftest import PARTITIONS
from tests.unit.sinks.sink_samples import document, fetch

ROOT = Path(__file__).resolve().parents[2]
TOPICS = (TopicName.DOCUMENTS, TopicName.FETCHES)


class Scene:
    """A SQLite store for the records of one crawl, and commands about it."""

    def __init__(self, settings: Settings, data_dir: Path) -> None:
        self.settings = settings
        self.data_dir = data_dir
        self.crawl = f"crawl-{uuid4().hex[:12]}"
        self.store = f"test-{uuid4().hex[:12]}"
        stores = {
            self.store: {"dsn": "sqlite:", "topics": TOPICS, "crawls": [self.crawl], "linger": 0.1, "max_records": 100},
            "other": {"dsn": f"sqlite:{data_dir}/other.sqlite", "topics": TOPICS, "crawls": [self.crawl]},
        }
        self.environment = {
            "KAFKA_BOOTSTRAP_SERVERS": str(settings.kafka_bootstrap_servers),
            "ODRADEK_DATA_DIR": str(data_dir),
            "ODRADEK_SINKS__STORES": json.dumps(stores),
        }

    def produce(self, documents: Sequence[int], fetches: Sequence[int] = ()) -> None:
        """Records of the crawl."""
        made = [Outbound(TopicName.DOCUMENTS, b"%d" % each, encode(document(each, self.crawl))) for each in documents]
        made += [Outbound(TopicName.FETCHES, b"%d" % each, encode(fetch(each, self.crawl))) for each in fetches]
        self.send(made)

    def send(self, records: Sequence[Outbound]) -> None:
        assert Producer(self.settings, "test").send_all(records, timedelta(seconds=30)) == []

    def sinks(self, *words: str) -> str:
        """What ``odradek sinks`` says."""
        done = CliRunner(env=self.environment).invoke(build("sinks"), ["sinks", *words])
        if done.exception is not None:
            raise done.exception
        return done.output

    def rows(self, file: str = "rows.sqlite", table: str = "documents") -> list[str]:
        """The URLs in a store, one for each row."""
        with closing(sqlite3.connect(self.data_dir / file)) as connection:
            return sorted(url for (url,) in connection.execute(f"SELECT url FROM {table}"))

    def urls(self, numbers: Sequence[int]) -> list[str]:
        return sorted(document(each).url for each in numbers)

    def committed(self) -> dict[Place, int]:
        """Of the store's group."""
        name = group(self.store)
        return dict(LagReader(self.settings, {name: TOPICS}).read().committed[name])

    def ends(self) -> dict[Place, int]:
        return dict(LagReader(self.settings, {group(self.store): TOPICS}).read().ends)

    def commit(self, offsets: dict[Place, int]) -> None:
        """As if the group had done its work so far."""
        consumer = Consumer(consumer_config(self.settings, "test", group(self.store)))
        places = [TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()]
        consumer.commit(offsets=places, asynchronous=False)
        consumer.close()


@pytest.fixture
def scene(kafka_settings: Settings, tmp_path: Path) -> Scene:
    """An empty store."""
    return Scene(kafka_settings, tmp_path)


def test_a_replay_fills_the_store_and_a_second_adds_nothing(scene: Scene) -> None:
    """Every record of every topic is a row once, whatever the store had; the group's offsets stay where they are."""
    scene.produce(range(50), range(20))
    scene.commit(scene.ends())
    before = scene.committed()
    for _ in range(2):
        said = scene.sinks("replay", scene.store, "--beginning")
        assert scene.rows() == scene.urls(range(50))
        assert len(scene.rows(table="fetches")) == 20
        assert "50 documents, 20 fetches" in said
    assert scene.committed() == before


def test_a_replay_into_another_store(scene: Scene) -> None:
    """One of the settings by its name, one that is in no settings by its DSN: both have what the first is for."""
    scene.produce(range(30))
    scene.sinks("replay", scene.store, "--into", "other", "--beginning", "--topic", "documents")
    assert scene.rows("other.sqlite") == scene.urls(range(30))
    scene.sinks("replay", scene.store, "--into", f"file://{scene.data_dir}/lake", "--beginning")
    place = place_of(Settings(), f"file://{scene.data_dir}/lake")
    assert len(reading.rows(place, DOCUMENTS, FORMATS["parquet"])) == 30


def test_a_replay_from_a_time(scene: Scene) -> None:
    """What came before it, and from its end on, is left out."""
    scene.produce(range(10))
    time.sleep(0.05)
    middle = datetime.now(UTC)
    time.sleep(0.05)
    scene.produce(range(10, 20))
    scene.sinks("replay", scene.store, "--since", middle.isoformat())
    assert scene.rows() == scene.urls(range(10, 20))
    scene.sinks("replay", scene.store, "--into", "other", "--beginning", "--until", middle.isoformat())
    assert scene.rows("other.sqlite") == scene.urls(range(10))


def test_a_replay_from_an_offset(scene: Scene) -> None:
    """Of that partition alone, from that record on."""
    before = scene.ends()
    scene.send(
        [
            Outbound(TopicName.DOCUMENTS, b"", encode(document(each, scene.crawl)), partition=each % 2)
            for each in range(20)
        ]
    )
    scene.sinks("replay", scene.store, "--from", f"documents/1/{before[(TopicName.DOCUMENTS, 1)] + 4}")
    assert scene.rows() == scene.urls(range(9, 20, 2))


def test_poison_is_the_same_dead_letter_again(scene: Scene) -> None:
    """A replay stores the neighbours, and whoever counts dead letters by their ids counts it once."""
    start = datetime.now(UTC)
    poison = b"poison of " + scene.crawl.encode()
    scene.produce(range(5))
    scene.send([Outbound(TopicName.DOCUMENTS, b"k", poison)])
    scene.produce(range(5, 10))
    for _ in range(2):
        scene.sinks("replay", scene.store, "--since", start.isoformat())
    assert scene.rows() == scene.urls(range(10))
    letters = []
    for number in range(PARTITIONS):
        for record in records_between(scene.settings, TopicName.DEAD_LETTERS, number, start):
            try:
                letters.append(decode(DeadLetter, record.value))
            except Undecodable:
                continue
    mine = [each for each in letters if each.value == poison]
    assert len(mine) == 2
    assert len({each.letter_id for each in mine}) == 1
    assert {each.stage for each in mine} == {f"{scene.store}-documents"}


def test_a_group_is_set_back_and_never_forward(scene: Scene) -> None:
    """To a time, to an offset, to the beginning; a partition that is not so far stays where it is."""
    scene.produce(range(20))
    middle = datetime.now(UTC)
    time.sleep(0.05)
    at_middle = scene.ends()
    scene.produce(range(20, 40))
    ends = scene.ends()
    behind = (TopicName.DOCUMENTS, 3)
    scene.commit(ends | {behind: 0})
    scene.sinks("rewind", scene.store, "--since", middle.isoformat(), "--topic", "documents")
    wanted = {
        place: at_middle[place] if place[0] == TopicName.DOCUMENTS and place != behind else offset
        for place, offset in (ends | {behind: 0}).items()
    }
    assert scene.committed() == wanted
    scene.sinks("rewind", scene.store, "--from", f"documents/0/{ends[(TopicName.DOCUMENTS, 0)]}")
    assert scene.committed() == wanted
    assert "records come again" in scene.sinks("rewind", scene.store, "--beginning")
    starts = LagReader(scene.settings, {group(scene.store): TOPICS}).read().starts
    assert scene.committed() == starts
    assert "nothing to set back" in scene.sinks("rewind", scene.store, "--beginning")


def feed(scene: Scene) -> None:
    """Run the sinks until the store has everything, then SIGTERM."""
    log = scene.data_dir / "log"
    stores = json.loads(scene.environment["ODRADEK_SINKS__STORES"])
    environment = (
        os.environ | scene.environment | {"ODRADEK_SINKS__STORES": json.dumps({scene.store: stores[scene.store]})}
    )
    with log.open("ab") as out:
        command = [sys.executable, "-m", "infra.cli", "run", "sinks"]
        process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=out, stderr=out)
    deadline = time.monotonic() + 60
    while scene.committed() != {place: end for place, end in scene.ends().items() if end}:
        assert process.poll() is None, log.read_text()[-3_000:]
        assert time.monotonic() < deadline, (scene.committed(), log.read_text()[-3_000:])
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(40) == 0


@pytest.mark.timeout(240)
def test_a_store_that_lost_rows_has_them_again_after_a_rewind(scene: Scene) -> None:
    """The stage feeds it from there once more: what was lost is back, what was there is there once."""
    scene.produce(range(200), range(50))
    feed(scene)
    with closing(sqlite3.connect(scene.data_dir / "rows.sqlite")) as connection, connection:
        connection.execute("DELETE FROM documents WHERE rowid % 3 = 0")
    assert 0 < len(scene.rows()) < 200
    assert "come again" in scene.sinks("rewind", scene.store, "--beginning")
    feed(scene)
    assert scene.rows() == scene.urls(range(200))
    assert len(scene.rows(table="fetches")) == 50


def test_a_group_that_is_fed_is_not_set_back(scene: Scene) -> None:
    """Its members would write their own offsets over it: the user is told to stop them."""
    scene.produce(range(5))
    scene.commit(scene.ends())
    member = Consumer(consumer_config(scene.settings, "test", group(scene.store)))
    member.subscribe([TopicName.DOCUMENTS])
    deadline = time.monotonic() + 30
    while not member.assignment():
        assert time.monotonic() < deadline
        member.poll(0.1)
    before = scene.committed()
    try:
        with pytest.raises(UserError, match="is being fed"):
            scene.sinks("rewind", scene.store, "--beginning")
    finally:
        member.close()
    assert scene.committed() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("replay", "STORE"), "say from where"),
        (("replay", "STORE", "--beginning", "--since", "2026-01-01"), "say from where"),
        (("replay", "nobody", "--beginning"), "no store 'nobody'; there are: other, test-"),
        (("replay", "STORE", "--beginning", "--into", "nobody"), "no store 'nobody'"),
        (("replay", "STORE", "--beginning", "--into", "cassandra://x"), "begins with 'cassandra'"),
        (("replay", "STORE", "--beginning", "--topic", "events"), "not fed from events"),
        (("rewind", "STORE", "--from", "documents/x/1"), "no place"),
        (("rewind", "STORE", "--from", "documents/99/1"), "no partition 99"),
        (("rewind", "STORE", "--from", "pages/0/1"), "not fed from pages"),
    ],
)
def test_what_cannot_be_meant_is_told(scene: Scene, words: tuple[str, ...], said: str) -> None:
    """Mistakes of the user end with a sentence, before anything is read."""
    with pytest.raises(UserError, match=said):
        scene.sinks(*(scene.store if word == "STORE" else word for word in words))
