"""The streams as a process of their own on a real Kafka: what goes in comes out, whatever stops them in between."""

import os
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from infra.kafka.control import definition
from infra.kafka.producer import Outbound
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.telemetry.tracing import Trace
from schemas.records import Crawl, Reason, Seed
from schemas.url import split
from schemas.wire import encode
from tests.integration.streams_scene import Output, Pipeline

TRACE = Trace("ab" * 16, "cd" * 8)
PAGES = 400


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
