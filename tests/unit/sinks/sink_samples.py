"""Records for the tests of the sinks: valid, distinct, made from a number."""

import gzip
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import blake2b

from infra.kafka.inbound import Inbound
from infra.kafka.topics import TopicName
from infra.telemetry.tracing import trace_of
from schemas.outcomes import Outcome
from schemas.records import Decision, Document, Fetch, Kind, Page
from schemas.url import url_id
from schemas.wire import encode
from sinks.keys import Content
from sinks.sink import Block, Entry

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def document(number: int, crawl: str = "test", **changes: object) -> Document:
    """The document of page ``number``."""
    url = f"http://h{number % 3}.test/{number}"
    text = f"text of page {number}"
    made = Document(
        fetch_id=f"{crawl}-{number}",
        crawl=crawl,
        url=url,
        url_id=url_id(url),
        host=f"h{number % 3}.test",
        visit=0,
        depth=1,
        parent=None,
        fetched_at=NOON + timedelta(seconds=number),
        status=200,
        content_type="text/html",
        charset="UTF-8",
        title=f"Page {number}",
        text=text,
        links=[f"http://h0.test/{each}" for each in range(number % 4)],
        content_hash=blake2b(text.encode(), digest_size=16).digest(),
        body_bytes=1000 + number,
        cut=None,
        flags=[],
        cleaner="test 1",
        cleaned_at=NOON + timedelta(seconds=number + 1),
        language="en",
        headings=[f"# {number}"],
        simhash=-number,
        sources={"language": "text", "author": f"meta {number}"} if number % 2 else {},
    )
    return made.model_copy(update=changes)


def fetch(number: int, crawl: str = "test", **changes: object) -> Fetch:
    """The attempt to fetch page ``number``; every fifth fails."""
    url = f"http://h{number % 3}.test/{number}"
    made = Fetch(
        fetch_id=f"{crawl}-{number}",
        crawl=crawl,
        url=url,
        url_id=url_id(url),
        host=f"h{number % 3}.test",
        kind=Kind.PAGE,
        lease=f"lease-{number}",
        visit=0,
        attempt=0,
        depth=1,
        hops=0,
        parent=None,
        outcome=Outcome.OK if number % 5 else Outcome.TIMEOUT,
        status=200 if number % 5 else None,
        error=None if number % 5 else "no answer",
        started_at=NOON + timedelta(seconds=number),
        dns_ms=None,
        connect_ms=1.5,
        first_byte_ms=12.25,
        total_ms=20.5,
        body_bytes=1000,
        cut=None,
        content_type="text/html; charset=utf-8",
        redirect_to=None,
        retry_after=None,
        etag=None,
        last_modified=None,
        remote_address="127.0.0.1",
        robots=None,
        worker="fetchers-test-1",
    )
    return made.model_copy(update=changes)


def decision(number: int, crawl: str = "test", **changes: object) -> Decision:
    """A decision not to crawl page ``number``."""
    url = f"http://h{number % 3}.test/{number}"
    made = Decision(
        crawl=crawl,
        url=url,
        url_id=url_id(url),
        host=f"h{number % 3}.test",
        stage="streams",
        reason="out_of_scope",
        depth=2,
        at=NOON + timedelta(seconds=number),
    )
    return made.model_copy(update=changes)


def page(number: int, crawl: str = "test", **changes: object) -> Page:
    """The raw answer of page ``number``, compressed as it came."""
    url = f"http://www.h{number % 3}.test/{number}?b=2&a=1"
    made = Page(
        fetch_id=f"{crawl}-{number}",
        crawl=crawl,
        url=url,
        url_id=url_id(url),
        host=f"www.h{number % 3}.test",
        visit=0,
        depth=1,
        hops=0,
        parent=None,
        fetched_at=NOON + timedelta(seconds=number, microseconds=number),
        status=200,
        head=b"HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=utf-8\r\ncontent-ENCODING: gzip\r\n"
        b"Transfer-Encoding: chunked\r\nX-Odd: caf\xe9 \r\n",
        body=gzip.compress(b"<p>page %d</p>" % number, mtime=0),
        cut=None,
    )
    return made.model_copy(update=changes)


MAKERS: dict[TopicName, Callable[[int, str], Content]] = {
    TopicName.DOCUMENTS: document,
    TopicName.FETCHES: fetch,
    TopicName.EVENTS: decision,
}


def block(topic: TopicName, numbers: range, partition: int = 0, crawl: str = "test") -> Block:
    """A block whose records stand at the offsets ``numbers``."""
    make = MAKERS[topic]
    return Block(topic, partition, tuple(Entry(number, make(number, crawl), None) for number in numbers))


def block_of(topic: TopicName, *records: Content, first: int = 0) -> Block:
    """A block of these records, from offset ``first`` on."""
    return Block(topic, 0, tuple(Entry(first + place, record, None) for place, record in enumerate(records)))


def inbound(topic: TopicName, offset: int, record: Content, partition: int = 0) -> Inbound:
    """The record as it is read from Kafka, with a trace."""
    header, value = trace_of(record.crawl, record.url_id, 0).header()
    assert isinstance(value, bytes)
    return Inbound(topic, partition, offset, record.url_id, encode(record), {header: value}, 0)
