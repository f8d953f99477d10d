"""A monitor in this process, beside workers that are as alive as heartbeats and health ports make them."""

import asyncio
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from infra.health import HealthServer
from infra.kafka.control import Control, definition
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.settings.monitor import MonitorSettings
from infra.stage import Context, Progress
from monitor.endpoint import FILE
from monitor.stage import Monitor
from schemas.letters import DeadLetter
from schemas.outcomes import Outcome
from schemas.records import Crawl, Document, Fetch, Heartbeat, Kind, Record
from schemas.url import url_id
from schemas.wire import encode

STAGES = ("frontier", "fetchers", "streams", "sinks", "monitor")
WITHIN_S = 60


class Worker:
    """A worker that does nothing but live, and has hosts to tell."""

    def __init__(self) -> None:
        self.told: list[dict[str, object]] = []

    async def run(self, stopping: asyncio.Event) -> None:
        await stopping.wait()

    def ready(self) -> bool:
        return True

    def progress(self) -> Progress:
        return Progress(0, waiting=False)

    def partitions(self) -> list[int]:
        return [0]

    def counts(self) -> Mapping[str, int]:
        return {}

    def positions(self) -> Mapping[str, int]:
        return {}

    async def hosts(self, search: str, limit: int) -> Sequence[Mapping[str, object]]:
        return [each for each in self.told if search in str(each["host"])][:limit]


class Scene:
    """What a test does to the pipeline, and asks of the monitor."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.worker = Worker()
        self.counts: dict[str, int] = {}
        self.silent: set[str] = set()
        self.url = self.token = self.health = ""
        self._producer = Producer(settings, "monitor-scene")

    def send(self, topic: TopicName, key: bytes, *records: Record | bytes) -> None:
        """Produce records; returns when the broker has them."""
        sent = [Outbound(topic, key, each if isinstance(each, bytes) else encode(each)) for each in records]
        assert self._producer.send_all(sent, timedelta(seconds=30)) == []

    def define(self, name: str, **fields: object) -> None:
        """Define a crawl."""
        crawl = Crawl.model_validate({"name": name, "created_at": datetime.now(UTC), **fields})
        assert self._producer.send_all([definition(crawl)], timedelta(seconds=30)) == []

    def has_work(self, host: str, queued: int, **fields: object) -> None:
        """Let the frontier tell of a host."""
        told = {
            "host": host, "queued": queued, "outstanding": 0, "delay_s": 1.0, "wait_s": 0.0, "failures": 0,
            "robots_failures": 0, "given_up": None,
        }  # fmt: skip
        self.worker.told = [told | fields, *(each for each in self.worker.told if each["host"] != host)]

    def beat(self) -> None:
        """A sign of life of every stage."""
        for stage in STAGES:
            if stage in self.silent:
                continue
            beat = Heartbeat(
                worker=f"{stage}-scene",
                stage=stage,
                url=self.health,
                started_at=datetime.now(UTC),
                at=datetime.now(UTC),
                every_s=1,
                ready=True,
                partitions=[0],
                counts=self.counts if stage == "frontier" else {},
                positions={},
            )
            self.send(TopicName.HEARTBEATS, beat.worker.encode(), beat)

    def ask(
        self, path: str, question: object = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Status and JSON of the answer; with a question it is a POST that shows the token unless told otherwise."""
        body = None if question is None else json.dumps(question).encode()
        given = {} if body is None else {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        request = urllib.request.Request(f"{self.url}{path}", body, {**given, **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def until(self, path: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first answer of which ``holds`` is true."""
        deadline = time.monotonic() + WITHIN_S
        while True:
            status, answer = self.ask(path)
            if status == 200 and holds(answer):
                return answer
            assert time.monotonic() < deadline, f"{path} still answers {status} {answer}"
            time.sleep(0.1)


@contextmanager
def monitored(kafka: Settings, data_dir: Path, **options: object) -> Iterator[Scene]:
    """A monitor that has looked at least once."""
    given = {"look_every": timedelta(milliseconds=200), **options}
    settings = kafka.model_copy(update={"data_dir": data_dir, "monitor": MonitorSettings.model_validate(given)})
    scene = Scene(settings)
    stop, failed = threading.Event(), list[BaseException]()

    def live() -> None:
        try:
            asyncio.run(_live(scene, stop))
        except BaseException as error:
            failed.append(error)
            raise

    thread = threading.Thread(target=live)
    thread.start()
    try:
        deadline = time.monotonic() + WITHIN_S
        while not (data_dir / FILE).is_file():
            assert thread.is_alive(), failed
            assert time.monotonic() < deadline
            time.sleep(0.02)
        scene.url, _, scene.token = (data_dir / FILE).read_text().strip().partition("/#token=")
        yield scene
    finally:
        stop.set()
        thread.join(30)
    assert failed == []


async def _live(scene: Scene, stop: threading.Event) -> None:
    control = Control(scene.settings, "monitor-scene")
    await asyncio.to_thread(control.start)
    health = HealthServer(scene.worker, "127.0.0.1", 0)
    stopping = asyncio.Event()
    try:
        scene.health = await health.start()
        scene.beat()
        monitor = Monitor(Context("monitor-scene", scene.settings, control))
        work = asyncio.create_task(monitor.run(stopping))
        while not stop.is_set() and not work.done():
            await asyncio.sleep(0.3)
            await asyncio.to_thread(scene.beat)
        stopping.set()
        await work
    finally:
        await health.stop()
        await asyncio.to_thread(control.stop)


def fetch(url: str, host: str, outcome: Outcome = Outcome.OK, **fields: object) -> Fetch:
    """One attempt, just now."""
    given: dict[str, object] = {
        "fetch_id": url, "crawl": "c", "url": url, "url_id": url_id(url), "host": host, "kind": Kind.PAGE, "lease": "l",
        "visit": 0, "attempt": 0, "depth": 0, "hops": 0, "parent": None, "outcome": outcome, "status": 200,
        "error": None, "started_at": datetime.now(UTC), "dns_ms": None, "connect_ms": None, "first_byte_ms": None,
        "total_ms": 10.0, "body_bytes": 100, "cut": None, "content_type": None, "redirect_to": None,
        "retry_after": None, "etag": None, "last_modified": None, "remote_address": None, "robots": None, "worker": "w",
    }  # fmt: skip
    return Fetch.model_validate(given | fields)


def document(url: str, **fields: object) -> Document:
    """One document, just now."""
    given: dict[str, object] = {
        "fetch_id": url, "crawl": "c", "url": url, "url_id": url_id(url), "host": "mon.test", "visit": 0, "depth": 0,
        "parent": None, "fetched_at": datetime.now(UTC), "status": 200, "content_type": None, "charset": None,
        "title": "A title", "text": "Some text.", "links": [], "content_hash": b"1", "body_bytes": 9, "cut": None,
        "cleaner": "scene", "cleaned_at": datetime.now(UTC),
    }  # fmt: skip
    return Document.model_validate(given | fields)


def letter(number: int, topic: str = "pages", **fields: object) -> DeadLetter:
    """A dead letter, just now."""
    given: dict[str, object] = {
        "letter_id": f"letter-{number}", "stage": "streams.pages", "reason": "undecodable", "error": "no such contract",
        "topic": topic, "partition": 0, "offset": number, "key": b"key", "value": b"\xff<value>", "attempts": 1,
        "at": datetime.now(UTC),
    }  # fmt: skip
    return DeadLetter.model_validate(given | fields)
