"""Noticing that a crawl is finished."""

from collections.abc import Mapping
from datetime import UTC, datetime

from infra.kafka.lag import GROUPS, Offsets, Place
from infra.kafka.topics import TopicName
from infra.progress import Completion, figures
from schemas.records import Heartbeat

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SINK = "odradek-sink-clickhouse"


def beat(counts: Mapping[str, int] = {}, positions: Mapping[str, int] = {}, stage: str = "frontier") -> Heartbeat:
    """A frontier's sign of life."""
    return Heartbeat(
        worker=f"{stage}-1",
        stage=stage,
        url="http://127.0.0.1:1",
        started_at=NOW,
        at=NOW,
        every_s=1,
        ready=True,
        partitions=[0],
        counts=dict(counts),
        positions=dict(positions),
    )


class World:
    """One partition of each topic, and how far each group has read."""

    def __init__(self) -> None:
        self.ends: dict[Place, int] = {(topic, 0): 0 for topics in GROUPS.values() for topic in topics}
        self.done: dict[str, dict[Place, int]] = {group: {} for group in GROUPS}
        self.frontier: dict[str, int] = {"links/0": 0, "fetches/0": 0}
        self.counts: dict[str, int] = {}

    def produce(self, topic: TopicName) -> None:
        self.ends[topic, 0] += 1

    def read(self, group: str, topic: TopicName) -> None:
        self.done[group][topic, 0] = self.ends[topic, 0]
        if group == "odradek-frontier":
            self.frontier[f"{topic}/0"] = self.ends[topic, 0]

    def look(self, completion: Completion) -> bool:
        offsets = Offsets(dict(self.ends), dict.fromkeys(self.ends, 0), {g: dict(d) for g, d in self.done.items()})
        return completion.observe([beat(self.counts, self.frontier)], offsets)


def test_a_crawl_is_followed_from_its_seed_to_its_row() -> None:
    """At every point of one page's way the crawl is unfinished; at its end it is finished."""
    world, completion = World(), Completion("c", [SINK])
    world.produce(TopicName.SEEDS)
    assert not world.look(completion)
    world.read("odradek-streams", TopicName.SEEDS)
    world.produce(TopicName.LINKS)
    assert not world.look(completion)
    world.read("odradek-frontier", TopicName.LINKS)
    world.counts = {"crawl/c/queued": 1}
    assert not world.look(completion)
    world.counts = {"crawl/c/leased": 1}
    world.produce(TopicName.URLS)
    assert not world.look(completion)
    world.produce(TopicName.PAGES)
    world.produce(TopicName.FETCHES)
    assert not world.look(completion)
    world.read("odradek-frontier", TopicName.FETCHES)
    world.counts = {}
    assert not world.look(completion)
    world.produce(TopicName.DOCUMENTS)
    world.read("odradek-streams", TopicName.PAGES)
    assert not world.look(completion)
    for topic in GROUPS[SINK]:
        world.read(SINK, topic)
    assert world.look(completion)


def test_a_late_link_begins_the_watch_again() -> None:
    """A link found on the last page, seen only after the frontier was empty, keeps the crawl going."""
    world, completion = World(), Completion("c", [])
    world.produce(TopicName.PAGES)
    assert not world.look(completion)
    assert completion.phase.name == "PAGES_READ"
    world.produce(TopicName.LINKS)
    world.read("odradek-streams", TopicName.PAGES)
    assert not world.look(completion)
    world.read("odradek-frontier", TopicName.LINKS)
    world.counts = {"crawl/c/queued": 1}
    assert not world.look(completion)
    assert completion.phase.name == "FRONTIER_EMPTY"


def test_a_visit_between_two_looks_begins_the_watch_again() -> None:
    """All of it happens while nobody looks: the frontier is as empty as before, but its page is not cleaned yet."""
    world, completion = World(), Completion("c", [])
    world.produce(TopicName.SEEDS)
    assert not world.look(completion)
    world.read("odradek-streams", TopicName.SEEDS)
    world.produce(TopicName.LINKS)
    world.read("odradek-frontier", TopicName.LINKS)
    world.produce(TopicName.PAGES)
    world.produce(TopicName.FETCHES)
    world.read("odradek-frontier", TopicName.FETCHES)
    world.counts = {"crawl/c/pages": 1}
    assert not world.look(completion)
    world.read("odradek-streams", TopicName.PAGES)
    assert world.look(completion)


def test_other_crawls_do_not_hold_it_up() -> None:
    """What another crawl has queued does not matter."""
    world, completion = World(), Completion("c", [SINK])
    world.counts = {"crawl/other/queued": 1_000}
    assert world.look(completion)


def test_without_a_frontier_nothing_is_finished() -> None:
    """No frontier, or one that does not own every partition: nobody knows, so it is not finished."""
    world, completion = World(), Completion("c", [])
    offsets = Offsets(dict(world.ends), dict.fromkeys(world.ends, 0), world.done)
    assert not completion.observe([], offsets)
    world.frontier = {"links/0": 0}
    assert not world.look(completion)


def test_an_outbox_is_work() -> None:
    """Records that the frontier has decided on but not yet produced keep the crawl going."""
    world, completion = World(), Completion("c", [])
    world.counts = {"outbox": 1}
    assert not world.look(completion)


def test_figures_add_up_over_workers() -> None:
    """Counts of all workers are summed, lag is by group, workers by stage."""
    world = World()
    world.produce(TopicName.URLS)
    offsets = Offsets(dict(world.ends), dict.fromkeys(world.ends, 0), world.done)
    beats = [beat({"crawl/c/pages": 2, "hosts": 1}), beat({"crawl/c/pages": 3, "hosts": 1}), beat(stage="sinks")]
    seen = figures("c", beats, offsets)
    assert (seen.pages, seen.hosts, seen.lag["odradek-fetchers"]) == (5, 2, 1)
    assert seen.stages == {"frontier": 2, "sinks": 1}
