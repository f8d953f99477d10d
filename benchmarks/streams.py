"""What a page costs in the streams: by step in this process, and as a whole in a real stage behind a real Kafka.

    python -m benchmarks.streams [--pages 5000] [--steps] [--steady]

The whole is user and system time of the stage's process from the first document to the last, start-up left out.
``--steady`` sends 100 real article pages a second for half a minute and prints the time from page record to document
record, queueing included.
"""

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import TypeVar

from confluent_kafka import Consumer

from benchmarks import report
from benchmarks.extraction import CASES, articles
from benchmarks.site import Shape, page
from infra.devstack.kafka import EmbeddedKafka
from infra.kafka.admin import Topics
from infra.kafka.clients import consumer_config
from infra.kafka.control import definition
from infra.kafka.lag import LagReader
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from schemas.codings import undo
from schemas.records import Crawl, Document, Page
from schemas.url import url_id
from schemas.wire import decode, encode
from streams import charset, maintext, markup, outlinks
from streams.clean import clean

SHAPE = Shape(50, 400, gzipped=True)
PORT = 8080
GROUP = {"odradek-streams": (TopicName.PAGES,)}
_STEADY_PER_S = 100
_STEADY_PAGES = 4_000
_STEADY_WARM_UP = 1_000
_TICKS = os.sysconf("SC_CLK_TCK")
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Encoding: gzip\r\n\r\n"

T = TypeVar("T")


def main() -> None:
    """Run the benchmark."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--pages", type=int, default=5_000)
    options.add_argument("--steps", action="store_true", help="only the steps, without Kafka")
    options.add_argument("--steady", action="store_true", help="latency at 100 real pages a second")
    chosen = options.parse_args()
    result: dict[str, object] = steady() if chosen.steady else {"steps_us": steps()}
    if not chosen.steps and not chosen.steady:
        result |= whole(chosen.pages)
    report.tell("streams", result)


def crawl() -> Crawl:
    """The crawl that the pages belong to: all hosts are in scope."""
    return Crawl(name="bench", anchors=SHAPE.seeds(PORT), created_at=datetime.now(UTC))


def pages(count: int) -> Iterator[Page]:
    """Pages of 20 kB with 50 links, as a fetcher would pass them on."""
    for number in range(count):
        host, path = SHAPE.host(number // SHAPE.pages_per_host % SHAPE.hosts), number % SHAPE.pages_per_host
        url = f"http://{host}:{PORT}/{path}"
        yield Page(
            fetch_id=f"{number:032x}", crawl="bench", url=url, url_id=url_id(url), host=f"{host}:{PORT}", visit=0,
            depth=0, hops=0, parent=None, fetched_at=datetime.now(UTC), status=200, head=_HEAD,
            body=gzip.compress(page(SHAPE, number // SHAPE.pages_per_host, path, PORT), 6), cut=None,
        )  # fmt: skip


def steps() -> dict[str, float]:
    """CPU microseconds of each step for one page, the best of five rounds."""
    raw = list(pages(200))
    definition_of_crawl, now = crawl(), datetime.now(UTC)
    coded = [encode(each) for each in raw]
    bodies = [undo(each.body, ["gzip"], 10**7).body for each in raw]
    texts = [charset.decode(body, "utf-8", html=True).text for body in bodies]
    parsed = [markup.read(markup.parse(text), each.url, "odradek") for text, each in zip(texts, raw, strict=True)]
    cleaned = [clean(each, "odradek", obey=True, now=now) for each in raw]

    def select(number: int) -> None:
        told = outlinks.Recent(0)
        outlinks.select(
            definition_of_crawl, raw[number], cleaned[number].follow, told, pending=set(), limit=1_000
        )  # fmt: skip

    return {
        "avro in": _best(lambda value: decode(Page, value), coded),
        "content coding": _best(lambda each: undo(each.body, ["gzip"], 10**7), raw),
        "charset": _best(lambda body: charset.decode(body, "utf-8", html=True), bodies),
        "links and title": _best(lambda text: markup.read(markup.parse(text), raw[0].url, "odradek"), texts),
        "resolve": _best(lambda each: outlinks.resolve(each.base, each.links), parsed),
        "main text": _main_text(texts),
        "clean (all of it)": _best(lambda each: clean(each, "odradek", obey=True, now=now), raw),
        "select": _best(select, range(len(raw))),
        "avro out": _best(lambda each: encode(each.document), cleaned),
    }


def _main_text(texts: Sequence[str]) -> float:
    """On top of the parse: the tree is changed by it, so each round has trees of its own."""
    rounds = [[markup.parse(text) for text in texts] for _ in range(5)]
    return min(_best(maintext.extract, trees, rounds=1) for trees in rounds)


def _best(step: Callable[[T], object], inputs: Sequence[T], rounds: int = 5) -> float:
    best_s = float("inf")
    for _ in range(rounds):
        start_s = time.thread_time()
        for each in inputs:
            step(each)
        best_s = min(best_s, time.thread_time() - start_s)
    return round(best_s / len(inputs) * 1e6, 1)


def whole(count: int) -> dict[str, object]:
    """The stage with ``count`` pages waiting for it."""
    with tempfile.TemporaryDirectory() as directory, EmbeddedKafka(Path(directory) / "kafka") as broker:
        settings = Settings(data_dir=Path(directory), kafka_bootstrap_servers=broker.bootstrap_servers)
        Topics(settings).create()
        _fill(settings, count)
        lag = LagReader(settings, GROUP)
        with _stage(settings) as pid:
            first, cpu_s, start_s = count, 0.0, 0.0
            while (left := lag.read().lag("odradek-streams")[TopicName.PAGES]) > 0:
                if left < count and not cpu_s:
                    first, cpu_s, start_s = left, _cpu_s(pid), time.monotonic()
                time.sleep(0.2)
            per_1000 = 1_000 / max(1, first)
            return {
                "pages": first,
                "cpu_s_per_1000_pages": round((_cpu_s(pid) - cpu_s) * per_1000, 3),
                "pages_per_s": round(first / (time.monotonic() - start_s), 1),
            }


def steady() -> dict[str, object]:
    """From page record to document record, while a page comes every 10 ms."""
    bodies = [article.html.encode("utf-8", "replace") for article in articles(CASES)]
    with tempfile.TemporaryDirectory() as directory, EmbeddedKafka(Path(directory) / "kafka") as broker:
        settings = Settings(data_dir=Path(directory), kafka_bootstrap_servers=broker.bootstrap_servers)
        Topics(settings).create()
        reader = Consumer(consumer_config(settings, "bench", "bench"))
        reader.subscribe([TopicName.DOCUMENTS])
        producer = Producer(settings, "bench")
        producer.send(definition(crawl()), lambda _error: None)
        sent_ms: dict[str, float] = {}
        took_ms: dict[str, float] = {}
        with _stage(settings):
            start_s = time.monotonic()
            for number, each in enumerate(pages(_STEADY_PAGES)):
                body = gzip.compress(bodies[number % len(bodies)], 6)
                page_of_site = each.model_copy(update={"body": body, "url": f"{each.url}?{number}"})
                while time.monotonic() < start_s + number / _STEADY_PER_S:
                    _take(reader, sent_ms, took_ms)
                sent_ms[page_of_site.url] = time.time() * 1_000
                producer.send(Outbound(TopicName.PAGES, page_of_site.url_id, encode(page_of_site)), lambda _error: None)
                producer.poll(timedelta(0))
            producer.flush(timedelta(seconds=30))
            deadline_s = time.monotonic() + 60
            while len(took_ms) < _STEADY_PAGES and time.monotonic() < deadline_s:
                _take(reader, sent_ms, took_ms)
        reader.close()
    # The first seconds are the start of the stage, and of nothing else.
    times = sorted(list(took_ms.values())[_STEADY_WARM_UP:])
    quantiles = {f"p{rank}_ms": round(times[int(len(times) * rank / 100)], 1) for rank in (50, 95, 99)}
    return {"steady_per_s": _STEADY_PER_S, "documents": len(took_ms), **quantiles, "max_ms": round(times[-1], 1)}


def _take(reader: Consumer, sent_ms: dict[str, float], took_ms: dict[str, float]) -> None:
    for message in reader.consume(100, 0.005):
        value = message.value()
        if message.error() is None and isinstance(value, bytes):
            url = decode(Document, value).url
            took_ms[url] = message.timestamp()[1] - sent_ms[url]


def _fill(settings: Settings, count: int) -> None:
    made = (Outbound(TopicName.PAGES, each.url_id, encode(each)) for each in pages(count))
    missing = Producer(settings, "bench").send_all(chain([definition(crawl())], made), timedelta(seconds=60))
    assert missing == []


@contextmanager
def _stage(settings: Settings) -> Iterator[int]:
    environment = os.environ | {
        "KAFKA_BOOTSTRAP_SERVERS": settings.kafka_bootstrap_servers or "",
        "ODRADEK_DATA_DIR": str(settings.data_dir),
        "ODRADEK_LOG_LEVEL": "warning",
    }
    process = subprocess.Popen([sys.executable, "-m", "infra.cli", "run", "streams"], env=environment)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(40)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


if __name__ == "__main__":
    main()
