"""The streams as a process of their own on a real Kafka: what goes in comes out, whatever stops them in between."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Consumer

from infra.kafka.clients import consumer_config
from infra.kafka.control import definition
from infra.kafka.lag import LagReader
from infra.kafka.producer import Headers, Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.telemetry.tracing import HEADER, Trace
from schemas.letters import DeadLetter
from schemas.records import Crawl, Document, Kind, Links, Page, Reason, Seed
from schemas.url import split, url_id
from schemas.wire import Undecodable, decode, encode

GROUP = "odradek-streams"
TRACE = Trace("ab" * 16, "cd" * 8)
PAGES = 400


@dataclass
class Output:
    """What the streams produced for one test."""

    documents: dict[str, int] = field(default_factory=dict)
    """URL to how often."""
    links: dict[str, Links] = field(default_factory=dict)
    """URL to the record that told it first."""
    letters: list[DeadLetter] = field(default_factory=list)
    copies: dict[str, str] = field(default_factory=dict)
    """URL of a document to what it is a copy of."""
    traces: set[bytes] = field(default_factory=set)


class Pipeline:
    """Streams processes, and readers of what they produce for hosts and crawls of this test."""

    def __init__(self, settings: Settings, directory: Path) -> None:
        self.settings = settings
        self.mark = uuid4().hex[:10]
        self.host = f"{self.mark}.test"
        self._directory = directory
        self._processes: list[subprocess.Popen[bytes]] = []
        self._reader = Consumer(consumer_config(settings, "test", f"test-{self.mark}"))
        self._reader.subscribe([TopicName.DOCUMENTS, TopicName.LINKS, TopicName.DEAD_LETTERS])
        self.output = Output()

    def start(self) -> subprocess.Popen[bytes]:
        """One more worker, run as a user runs it."""
        environment = os.environ | {
            "KAFKA_BOOTSTRAP_SERVERS": self.settings.kafka_bootstrap_servers or "",
            "ODRADEK_DATA_DIR": str(self._directory),
            "ODRADEK_LOG_LEVEL": "warning",
        }
        self._processes.append(subprocess.Popen([sys.executable, "-m", "infra.cli", "run", "streams"], env=environment))
        return self._processes[-1]

    def send(self, *records: Outbound) -> None:
        """Produce and wait until the broker has them."""
        asyncio.run(Producer(self.settings, "test").deliver(records))

    def page(self, number: int, body: bytes = b"", headers: Headers | None = None) -> Outbound:
        """A page of this test's host that links to the next one and to one that all share."""
        url = f"http://{self.host}/{number}"
        html = body or b"<title>T%d</title><p>text</p><a href=/%d>next</a><a href=/shared>s</a>" % (number, number + 1)
        page = Page(
            fetch_id=f"{self.mark}-{number}",
            crawl=self.mark,
            url=url,
            url_id=url_id(url),
            host=self.host,
            visit=0,
            depth=1,
            hops=0,
            parent=None,
            fetched_at=datetime.now(UTC),
            status=200,
            head=b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n",
            body=html,
            cut=None,
        )
        return Outbound(TopicName.PAGES, page.url_id, encode(page), headers or [])

    def wait(self, condition: Callable[[Output], bool], timeout: timedelta = timedelta(seconds=90)) -> Output:
        """Read until it holds."""
        deadline = time.monotonic() + timeout.total_seconds()
        while not condition(self.output):
            assert time.monotonic() < deadline, f"{len(self.output.documents)} documents, {self.output.letters}"
            for message in self._reader.consume(500, 0.2):
                value = message.value()
                if message.error() is None and isinstance(value, bytes):
                    # Another test may have left poison in a topic that all share.
                    with suppress(Undecodable):
                        self._take(message.topic() or "", value, dict(message.headers() or []))
        return self.output

    def _take(self, topic: str, value: bytes, headers: dict[str, str | bytes | None]) -> None:
        trace = headers.get(HEADER)
        if topic == TopicName.DEAD_LETTERS:
            letter = decode(DeadLetter, value)
            if self.mark.encode() in (letter.key or b""):
                self.output.letters.append(letter)
            return
        if topic == TopicName.DOCUMENTS:
            document = decode(Document, value)
            if document.host != self.host:
                return
            if document.duplicate_of is not None:
                self.output.copies[document.url] = document.duplicate_of
            self.output.documents[document.url] = self.output.documents.get(document.url, 0) + 1
        else:
            links = decode(Links, value)
            if self.mark not in links.host:
                return
            for url in links.urls:
                self.output.links.setdefault(url, links)
        if isinstance(trace, bytes):
            self.output.traces.add(trace)

    def committed(self) -> bool:
        """Whether the group has done all that there is."""
        reader = LagReader(self.settings, {GROUP: (TopicName.PAGES, TopicName.SEEDS)})
        return sum(reader.read().lag(GROUP).values()) == 0

    def end(self) -> None:
        """Stop what still runs."""
        for process in self._processes:
            process.kill()
            process.wait()
        self._reader.close()


@pytest.fixture
def pipeline(kafka_settings: Settings, tmp_path: Path) -> Iterator[Pipeline]:
    """No worker yet."""
    pipeline = Pipeline(kafka_settings, tmp_path)
    yield pipeline
    pipeline.end()


def test_seeds_and_pages_come_out_and_rubbish_becomes_dead_letters(pipeline: Pipeline) -> None:
    """Text, JSON and Avro seeds become links; a page becomes a document and links; poison stops nothing."""
    host, mark = pipeline.host, pipeline.mark.encode()
    seeds = [f" HTTP://{host}:80/text \n".encode(), b'{"url": "http://%s/json", "crawl": "x"}' % host.encode()]
    seeds.append(encode(Seed(url=f"http://{host}/avro")))
    poison = [b"no url", b'{"url": 1}', b"\xff", None, b"", b"[" * 10_000, b'{"url": "\\ud800"}', b"ftp://h.test/"]
    definition_of_crawl = Crawl(name=pipeline.mark, max_depth=5, created_at=datetime.now(UTC))
    pipeline.send(definition(definition_of_crawl))
    pipeline.start()
    pipeline.send(
        *(Outbound(TopicName.SEEDS, b"%s-%d" % (mark, n), value) for n, value in enumerate(poison)),
        *(Outbound(TopicName.SEEDS, mark, value, [TRACE.header()]) for value in seeds),
        *(Outbound(TopicName.PAGES, mark + b"-p", value) for value in (b"no page", None, b"\xc3\x01" + b"0" * 30)),
        pipeline.page(1, headers=[TRACE.header()]),
        pipeline.page(2, b"<a href=http://elsewhere.test/>out of scope</a><a href=/3>3</a><a href=/text>seed</a>"),
    )
    output = pipeline.wait(
        lambda out: len(out.documents) == 2 and len(out.letters) == len(poison) + 3 and len(out.links) >= 6
    )
    assert set(output.links) == {f"http://{host}/{name}" for name in ("text", "json", "avro", "2", "shared", "3")}
    assert (output.links[f"http://{host}/json"].crawl, output.links[f"http://{host}/json"].depth) == ("x", 0)
    told = output.links[f"http://{host}/2"]
    assert (told.reason, told.depth, told.parent) == (Reason.LINK, 2, f"http://{host}/1")
    assert {letter.stage for letter in output.letters} == {"streams.seeds", "streams.pages"}
    reasons = {letter.reason for letter in output.letters}
    assert reasons == {"bad_page", "bad_json", "bad_text", "empty_seed", "url_malformed", "url_scheme"}
    assert any(TRACE.trace_id.encode() in trace and TRACE.span_id.encode() not in trace for trace in output.traces)


def test_a_kill_in_the_middle_loses_no_document_and_no_link(pipeline: Pipeline) -> None:
    """After kill -9 every page has its document and every link was told."""
    pipeline.send(*(pipeline.page(number) for number in range(PAGES)))
    process = pipeline.start()
    pipeline.wait(lambda out: len(out.documents) > 20)
    process.kill()
    process.wait()
    pipeline.start()
    _all_came(pipeline)


def test_a_stop_in_the_middle_drains(pipeline: Pipeline) -> None:
    """SIGTERM ends the process with code 0 and nothing is lost, nor done twice."""
    pipeline.send(*(pipeline.page(number) for number in range(PAGES)))
    process = pipeline.start()
    pipeline.wait(lambda out: len(out.documents) > 20)
    process.send_signal(signal.SIGTERM)
    assert process.wait(35) == 0
    pipeline.start()
    assert set(_all_came(pipeline).documents.values()) == {1}


def test_a_kill_of_the_process_for_costly_pages_loses_no_page(pipeline: Pipeline) -> None:
    """After kill -9 of it in the middle every page has one document, the worker is the same, and it ends as usual."""
    large = b"<p>some text</p>" * 11_000
    process = pipeline.start()
    pipeline.send(*(pipeline.page(number, large + b"%d" % number) for number in range(20)))
    pipeline.wait(lambda out: len(out.documents) > 2)
    [child] = [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    os.kill(child, signal.SIGKILL)
    output = pipeline.wait(lambda out: len(out.documents) == 20)
    assert set(output.documents.values()) == {1}
    process.send_signal(signal.SIGTERM)
    assert process.wait(35) == 0


def test_a_copy_names_the_page_that_had_its_text_first(pipeline: Pipeline) -> None:
    """Also when both come in one batch; the first is a copy of nothing, also when it comes again."""
    body = b"<p>%s</p>" % (b"A sentence of many words stands here. " * 9)
    pipeline.send(pipeline.page(1, body), pipeline.page(2, b"<title>other</title>" + body), pipeline.page(1, body))
    pipeline.start()
    output = pipeline.wait(lambda out: sum(out.documents.values()) == 3)
    [(copy, first)] = output.copies.items()
    assert {copy, first} == {f"http://{pipeline.host}/1", f"http://{pipeline.host}/2"}


def _all_came(pipeline: Pipeline) -> Output:
    urls = {f"http://{pipeline.host}/{number}" for number in range(PAGES)}
    told = {f"http://{pipeline.host}/{name}" for name in (*range(1, PAGES + 1), "shared")}
    output = pipeline.wait(lambda out: set(out.documents) == urls and set(out.links) == told)
    deadline = time.monotonic() + 30
    while not pipeline.committed():
        assert time.monotonic() < deadline, "the offsets do not reach the end"
        time.sleep(0.2)
    assert split(f"http://{pipeline.host}/").host == pipeline.host
    return output


def test_links_and_indexing_follow_the_policy(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that asks not to be indexed gives links and no document, where that is set; its feed is told as one."""
    monkeypatch.setenv("ODRADEK_STREAMS__LINKS__NOINDEX", "drop")
    monkeypatch.setenv("ODRADEK_STREAMS__LINKS__FEEDS", "follow")
    pipeline.send(definition(Crawl(name=pipeline.mark, created_at=datetime.now(UTC))))
    pipeline.start()
    feed = b"<link rel=alternate type=application/rss+xml href=/feed>"
    pipeline.send(
        pipeline.page(1, b"<meta name=robots content=noindex>" + feed + b"<a href=/2>2</a>"),
        pipeline.page(3, b"<p>kept</p><a href=/4>4</a>"),
    )
    output = pipeline.wait(lambda out: len(out.links) == 3 and len(out.documents) == 1)
    base = f"http://{pipeline.host}"
    assert {url: links.kind for url, links in output.links.items()} == {
        f"{base}/2": Kind.PAGE,
        f"{base}/feed": Kind.SITEMAP,
        f"{base}/4": Kind.PAGE,
    }
    assert list(output.documents) == [f"{base}/3"]


def test_a_sitemap_becomes_links_and_no_document(pipeline: Pipeline) -> None:
    """What it names is told with its order, and the page is done with."""
    pipeline.send(definition(Crawl(name=pipeline.mark, created_at=datetime.now(UTC))))
    pipeline.start()
    url = f"http://{pipeline.host}/s.xml"
    body = b"<urlset><url><loc>/1</loc><priority>0.9</priority></url><url><loc>http://o.test/</loc></url></urlset>"
    raw = decode(Page, pipeline.page(0).value)
    raw = raw.model_copy(update={"url": url, "kind": Kind.SITEMAP, "body": body})
    pipeline.send(Outbound(TopicName.PAGES, url_id(url), encode(raw)), pipeline.page(3, b"<p>a page</p>"))
    output = pipeline.wait(lambda out: len(out.links) == 1 and len(out.documents) == 1)
    [links] = output.links.values()
    assert (links.urls, links.priorities, links.depth) == ([f"http://{pipeline.host}/1"], [4], 2)
    assert list(output.documents) == [f"http://{pipeline.host}/3"]
