"""What the frontier tells to ``odradek explain``: asked of its owner, else read from the changelog."""

import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from frontier.entry import fingerprint
from frontier.explain import explain
from frontier.memory import Memory
from frontier.partition import USED, Partition
from frontier.store import Store
from frontier.traps import Traps
from infra.explain import Fact, Question
from infra.health import ask
from infra.kafka.admin import Topics
from infra.kafka.heartbeats import Heartbeats
from infra.kafka.partition_reader import PartitionReader
from infra.kafka.partitioner import partition_of
from infra.kafka.topics import TopicName

STAGE = "frontier"
ENDINGS = {
    "pages": "fetched",
    "moved": "it redirects",
    "errors": "it could not be fetched",
    "refused": "it was refused",
}


def facts(question: Question) -> Iterator[Fact]:
    """Its state, what its host waits for, and what robots.txt says."""
    partitions = Topics(question.settings).partition_counts().get(TopicName.FRONTIER_STATE, 0)
    if not partitions:
        return
    number = partition_of(question.url.host.encode(), partitions)
    found, source = _living(question, number), STAGE
    if found is None:
        found, source = _remembered(question, number), "frontier-state"
    yield Fact(source, _state(found), fields=found)
    yield Fact("robots", _robots(found["robots"]), fields=found["robots"] or {})


def _living(question: Question, number: int) -> Mapping[str, Any] | None:
    heartbeats = Heartbeats(question.settings)
    try:
        owners = [beat for beat in heartbeats.read() if beat.stage == STAGE and number in beat.partitions]
    finally:
        heartbeats.close()
    for beat in owners:
        try:
            return ask(beat.url, number, question.crawl.name, question.url.href)
        except OSError:
            # Its address may be one that only its own machine knows: the changelog tells nearly as much.
            continue
    return None


def _remembered(question: Question, number: int) -> Mapping[str, Any]:
    """The answer of a frontier that holds nothing but this URL, its host and its robots.txt."""
    url = question.url
    known_as = Traps(question.settings.frontier.traps).without_session(url.href)
    wanted = {b"u" + fingerprint(question.crawl.name, known_as), b"h" + url.host.encode(), b"r" + url.origin.encode()}
    store = Store(":memory:")
    memory = Memory(store, number)
    reader = PartitionReader(question.settings, "odradek-explain", TopicName.FRONTIER_STATE, number)
    store.begin()
    try:
        for batch in reader.read(0):
            for change in batch:
                if change.key in wanted:
                    memory.apply(change.key or b"", change.value)
        store.set_meta(USED, 1)
        settings = question.settings
        now_s = time.time()
        token = settings.identity.robots_token
        partition = Partition(memory, settings.frontier, lambda _name: question.crawl, token, now_s)
        partition.orders = question.orders
        return explain(partition, question.crawl.name, url.href, now_s)
    finally:
        store.commit()
        reader.close()
        store.close()


def _state(found: Mapping[str, Any]) -> str:
    match found["state"]:
        case "unknown":
            trap = f"; as a link it would be refused as {found['trap']}" if found["trap"] else ""
            return f"never handed over: no seed, link, redirect or sitemap in scope has named it{trap}"
        case "waiting":
            return f"waits in lane {found['entry']['lane']}, attempt {found['entry']['attempt']}: {found['why']}"
        case "fetching":
            return f"is being fetched, attempt {found['entry']['attempt']}, released at {found['released_at'] or '?'}"
        case _:
            why = f" as {found['reason']}" if found["reason"] else ""
            return f"ended: {ENDINGS.get(found['ending'], found['ending'])}{why}"


def _robots(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "the origin's robots.txt was never read"
    read_at = datetime.fromisoformat(found["read_at"])
    verdict = "allowed" if found["allowed"] else "forbidden"
    several = "no rule is against it" if found["allowed"] else "several rules say so"
    rule = f"by {found['rule']!r}" if found["rule"] else several
    delay = f", Crawl-delay {found['crawl_delay_s']:g} s" if found["crawl_delay_s"] else ""
    return f"{verdict}: {rule} (version {found['version']}, read {read_at:%Y-%m-%d %H:%M:%S}{delay})"
