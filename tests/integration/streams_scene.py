"""Streams processes on a real Kafka, and readers of what they produce."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

from confluent_kafka import Consumer

from infra.kafka.clients import consumer_config
from infra.kafka.lag import LagReader
from infra.kafka.producer import Headers, Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.telemetry.tracing import HEADER
from schemas.letters import DeadLetter
from schemas.records import Document, Links, Page
from schemas.url import url_id
from schemas.versions import Change
from schemas.wire import Undecodable, decode, encode

GROUP = "odradek-streams"


@dataclass
class Output:
    """What the streams produced for one test."""

    documents: dict[str, int] = field(default_factory=dict)
    """URL to how often."""
    links: dict[str, Links] = field(default_factory=dict)
    """URL to the record that told it first."""
    letters: list[DeadLetter] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
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
        self._reader.subscribe([TopicName.DOCUMENTS, TopicName.LINKS, TopicName.CHANGES, TopicName.DEAD_LETTERS])
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

    def page(self, number: int, body: bytes = b"", headers: Headers | None = None, visit: int = 0) -> Outbound:
        """A page of this test's host that links to the next one and to one that all share."""
        url = f"http://{self.host}/{number}"
        html = body or b"<title>T%d</title><p>text</p><a href=/%d>next</a><a href=/shared>s</a>" % (number, number + 1)
        page = Page(
            fetch_id=f"{self.mark}-{number}-{visit}",
            crawl=self.mark,
            url=url,
            url_id=url_id(url),
            host=self.host,
            visit=visit,
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
        if topic == TopicName.DEAD_LETTERS:
            letter = decode(DeadLetter, value)
            if self.mark.encode() in (letter.key or b""):
                self.output.letters.append(letter)
            return
        if topic == TopicName.CHANGES:
            change = decode(Change, value)
            if change.host == self.host:
                self.output.changes.append(change)
            return
        ours = self._take_document(value) if topic == TopicName.DOCUMENTS else self._take_links(value)
        if ours and isinstance(trace := headers.get(HEADER), bytes):
            self.output.traces.add(trace)

    def _take_document(self, value: bytes) -> bool:
        document = decode(Document, value)
        if document.host != self.host:
            return False
        if document.duplicate_of is not None:
            self.output.copies[document.url] = document.duplicate_of
        self.output.documents[document.url] = self.output.documents.get(document.url, 0) + 1
        return True

    def _take_links(self, value: bytes) -> bool:
        links = decode(Links, value)
        if self.mark not in links.host:
            return False
        for url in links.urls:
            self.output.links.setdefault(url, links)
        return True

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
