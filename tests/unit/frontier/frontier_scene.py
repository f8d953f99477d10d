"""A frontier of one partition in memory, with a clock that the test moves."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from frontier.admission import admit
from frontier.memory import Memory
from frontier.outbox import Bundle
from frontier.partition import USED, Partition
from frontier.results import settle
from frontier.store import Store
from infra.kafka.topics import TopicName
from infra.settings import FrontierSettings
from schemas.outcomes import Outcome
from schemas.records import Crawl, Decision, Fetch, Kind, Links, Reason, Request
from schemas.url import split, url_id
from schemas.wire import decode

NOW_S = 1_000_000.0


class Scene:
    """Drives a partition as the stage does: one transaction for each step."""

    def __init__(self, path: Path | str = ":memory:", now_s: float = NOW_S, **settings: object) -> None:
        self.settings = FrontierSettings.model_validate({"delay": timedelta(seconds=1), **settings})
        self.path = path
        self.now_s = now_s
        self.crawls: dict[str, Crawl] = {}
        self.changes: list[tuple[bytes, bytes | None]] = []
        self.requests: list[Request] = []
        self.renders: list[Request] = []
        self.decisions: list[Decision] = []
        self.links: list[Links] = []
        self.open(Store(path))

    def open(self, store: Store) -> None:
        """Take the store up, as after a start."""
        self.memory = Memory(store, 0)
        self.partition = Partition(self.memory, self.settings, self.crawl, "odradek", self.now_s)
        with self.step():
            store.set_meta(USED, 1)

    def crawl(self, name: str) -> Crawl:
        """The definition of a crawl; without robots.txt unless the test says otherwise."""
        return self.crawls.get(name) or self.define(name)

    def define(self, name: str, **fields: object) -> Crawl:
        """Define a crawl."""
        definition = {"name": name, "follow_robots": False, "created_at": datetime.now(UTC), **fields}
        self.crawls[name] = Crawl.model_validate(definition)
        return self.crawls[name]

    @contextmanager
    def step(self) -> Iterator[None]:
        """One transaction; what it owes is published at once."""
        self.memory.store.begin()
        yield
        settled = self.memory.settle("test")
        self.memory.store.commit()
        if settled is not None:
            self.publish(settled[1])
            self.memory.store.paid(settled[0])

    def publish(self, bundle: Bundle) -> None:
        """What the world sees."""
        self.changes += [(change.key or b"", change.value) for change in bundle.changes]
        kinds: dict[TopicName, Callable[[bytes | None], None]] = {
            TopicName.URLS: lambda value: self.requests.append(decode(Request, value)),
            TopicName.RENDERS: lambda value: self.renders.append(decode(Request, value)),
            TopicName.EVENTS: lambda value: self.decisions.append(decode(Decision, value)),
            TopicName.LINKS: lambda value: self.links.append(decode(Links, value)),
            TopicName.ROBOTS: lambda _value: None,
        }
        for record in bundle.rest:
            kinds[TopicName(record.topic)](record.value)

    def admit(self, *urls: str, crawl: str = "c", depth: int = 0) -> None:
        """Hand URLs of one host to the frontier."""
        links = Links(crawl=crawl, host=split(urls[0]).host, reason=Reason.LINK, depth=depth, urls=list(urls))
        with self.step():
            admit(self.partition, links, None, self.now_s)

    def release(self, after_s: float = 0.0) -> list[Request]:
        """Move the clock and release what is due; the new requests."""
        self.now_s += after_s
        before = len(self.requests)
        with self.step():
            self.partition.release(self.now_s)
        return self.requests[before:]

    def settle(self, request: Request, outcome: Outcome = Outcome.OK, **fields: object) -> None:
        """Give a request its result."""
        with self.step():
            settle(self.partition, fetch(request, outcome, **fields), self.now_s)

    def count(self, name: str, crawl: str = "c") -> int:
        """One of the figures of a crawl."""
        return self.memory.counts[f"crawl/{crawl}/{name}"]

    def stored(self) -> dict[str, int]:
        """What the store really holds: URLs that wait, URLs that are leased."""
        waiting = sum(count for *_, count in self.memory.store.waiting())
        leased = sum(1 for name, _, _ in self.memory.store.leases() if not name.startswith("robots/"))
        return {"queued": waiting, "leased": leased}


def fetch_of(url: str = "http://a.test/", outcome: Outcome = Outcome.OK, **fields: object) -> Fetch:
    """The result of a request that nobody had to make."""
    asked = Request(
        crawl="c", url=url, url_id=url_id(url), host=split(url).host, kind=Kind.PAGE, lease="l", visit=0, attempt=0,
        depth=0, hops=0, parent=None, delay_ms=0, robots=None, released_at=datetime.now(UTC),
    )  # fmt: skip
    return fetch(asked, outcome, **fields)


def fetch(request: Request, outcome: Outcome, **fields: object) -> Fetch:
    """The result of a request."""
    return Fetch.model_validate(
        {
            "fetch_id": "f",
            **{
                name: getattr(request, name)
                for name in ("crawl", "url", "url_id", "host", "kind", "lease", "visit", "attempt", "depth", "hops")
            },
            "parent": request.parent,
            "delay_ms": request.delay_ms,
            "outcome": outcome,
            "status": None,
            "error": None,
            "started_at": datetime.now(UTC),
            "dns_ms": None,
            "connect_ms": None,
            "first_byte_ms": None,
            "total_ms": 0.0,
            "body_bytes": 0,
            "cut": None,
            "content_type": None,
            "redirect_to": None,
            "retry_after": None,
            "etag": None,
            "last_modified": None,
            "remote_address": None,
            "robots": None,
            "worker": "w",
            **fields,
        }
    )


def robots(scene: Scene, text: str, outcome: Outcome = Outcome.OK) -> None:
    """Answer the request for a robots.txt that is out."""
    request = scene.requests[-1]
    assert request.kind is Kind.ROBOTS
    scene.settle(request, outcome, body=text.encode())


def identity(url: str) -> bytes:
    """The id of a URL."""
    return url_id(url)
