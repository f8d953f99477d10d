"""The stage with a store of objects, as it runs: its own process, a real Kafka, kills."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from uuid import uuid4

import pytest
from fastwarc import ArchiveIterator, WarcRecordType

from infra.kafka.lag import LagReader
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from schemas.wire import encode
from sinks.objects import reading
from sinks.objects.formats import FORMATS
from sinks.objects.place import place_of
from sinks.stores import group
from sinks.tables import DOCUMENTS
from tests.unit.sinks.sink_samples import document, page

ROOT = Path(__file__).resolve().parents[2]
TOPICS = (TopicName.DOCUMENTS, TopicName.PAGES)


def caught_up(settings: Settings, name: str) -> bool:
    """Whether the store's group has committed all that there is."""
    offsets = LagReader(settings, {group(name): TOPICS}).read()
    done = offsets.committed[group(name)]
    return all(done.get(place, offsets.starts[place]) >= end for place, end in offsets.ends.items())


@pytest.mark.timeout(240)
def test_kills_double_and_lose_no_object_of_anything(kafka_settings: Settings, tmp_path: Path) -> None:
    """Kill -9 again and again while it writes: each document stands in one object, each page in one archive."""
    crawl, name = f"crawl-{uuid4().hex[:12]}", f"test-{uuid4().hex[:12]}"
    documents = [document(number, crawl) for number in range(2_000)]
    pages = [page(number, crawl) for number in range(600)]
    records = [Outbound(TopicName.DOCUMENTS, each.url_id, encode(each)) for each in documents]
    records += [Outbound(TopicName.PAGES, each.url_id, encode(each)) for each in pages]
    assert Producer(kafka_settings, "test").send_all(records, timedelta(seconds=30)) == []
    store = {"dsn": "objects:", "topics": TOPICS, "crawls": [crawl], "linger": 0.2, "max_records": 150}
    environment = os.environ | {
        "KAFKA_BOOTSTRAP_SERVERS": str(kafka_settings.kafka_bootstrap_servers),
        "ODRADEK_DATA_DIR": str(tmp_path),
        "ODRADEK_SINKS__STORES": json.dumps({name: store}),
    }
    place = place_of(Settings(data_dir=tmp_path), "objects:")
    log = tmp_path / "log"
    for least in (1, 6, 12, None):
        with log.open("ab") as out:
            command = [sys.executable, "-m", "infra.cli", "run", "sinks"]
            process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=out, stderr=out)
        deadline = time.monotonic() + 60
        while not (caught_up(kafka_settings, name) if least is None else len(place.walk("")) >= least):
            assert process.poll() is None, log.read_text()[-3_000:]
            assert time.monotonic() < deadline, log.read_text()[-3_000:]
            time.sleep(0.02)
        process.kill()
        process.wait(10)
    rows = Counter(
        row["url"]
        for each in reading.objects(place, DOCUMENTS, "parquet")
        for row in FORMATS["parquet"].rows(DOCUMENTS, place.get(each))
    )
    assert rows == Counter(each.url for each in documents)
    captures = Counter(
        record.headers["WARC-Target-URI"]
        for each in reading.archives(place)
        for record in ArchiveIterator(BytesIO(place.get(each)), record_types=WarcRecordType.response)
    )
    assert captures == Counter(each.url for each in pages)
