"""Processes that take one partition over after each other, with a changelog and a broker in memory."""

from collections.abc import Callable, Iterator
from pathlib import Path

from frontier_scene import NOW_S, Scene

from frontier import admission
from frontier.memory import Memory
from frontier.owned import Owned, Restored, restore, take_over
from frontier.partition import Partition
from frontier.publisher import Publisher
from infra.kafka.inbound import Inbound
from infra.kafka.partition_reader import PartitionReader
from infra.kafka.producer import Delivered, Outbound, Placed, Producer
from infra.kafka.topics import TopicName
from infra.settings import FrontierSettings
from schemas.records import Links, Reason


class Log(PartitionReader):
    """A changelog in memory."""

    def __init__(self) -> None:
        self.records: list[Inbound] = []
        self.start = 0

    @property
    def end(self) -> int:
        """The offset after the last record."""
        return len(self.records)

    @end.setter
    def end(self, value: int) -> None: ...

    def add(self, record: Outbound) -> int:
        """Append; returns the offset."""
        headers = {name: str(value).encode() for name, value in record.headers}
        offset = len(self.records)
        self.records.append(Inbound(record.topic, 0, offset, record.key, record.value, headers, 0))
        return offset

    def read(self, offset: int) -> Iterator[list[Inbound]]:
        """One record a batch."""
        for record in self.records[offset:]:
            yield [record]


class Broker(Producer):
    """A producer whose broker takes records when the test says so, or never."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.waiting: list[tuple[Outbound, Delivered, Placed | None]] = []
        self.world: list[Outbound] = []

    def send(self, record: Outbound, then: Delivered, placed: Placed | None = None) -> None:
        """Queue it."""
        self.waiting.append((record, then, placed))

    def take(self, count: int = 1_000_000) -> None:
        """Take so many records, oldest first, those that follow from a delivery included."""
        while self.waiting and count:
            count -= 1
            record, then, placed = self.waiting.pop(0)
            if record.topic is TopicName.FRONTIER_STATE:
                offset = self.log.add(record)
                if placed is not None:
                    placed(offset)
            else:
                self.world.append(record)
            then(None)


def opened(path: Path, log: Log, owner: str) -> tuple[Owned, Broker, Restored]:
    """A process takes the partition over."""
    restored = restore(path, 0, log)
    broker = Broker(log)
    scene = Scene()

    def make(memory: Memory) -> Partition:
        return Partition(memory, FrontierSettings(), scene.crawl, "odradek", NOW_S)

    return take_over(restored, 0, owner, Publisher(broker), make), broker, restored


def decide(owned: Owned, work: Callable[[Partition], object]) -> None:
    """One transaction, as the stage makes it."""
    owned.begin()
    work(owned.partition)
    settled = owned.memory.settle(owned.owner)
    owned.memory.store.commit()
    assert settled is not None
    owned.publisher.publish(*settled, {})


def admit(*paths: str) -> Callable[[Partition], object]:
    """Links of one host."""
    urls = [f"http://h.test/{path}" for path in paths]
    links = Links(crawl="c", host="h.test", reason=Reason.LINK, depth=0, urls=urls)
    return lambda partition: admission.admit(partition, links, None, NOW_S)


def release(partition: Partition) -> object:
    """Whatever is due, long after."""
    return partition.release(NOW_S + 10_000)


def pay(owned: Owned) -> None:
    """Forget what the broker has."""
    settled = owned.publisher.settled()
    if settled is not None:
        owned.begin()
        owned.memory.store.paid(settled[0])
        owned.memory.store.commit()


def figures(owned: Owned) -> dict[str, int]:
    """The crawl's counts."""
    prefix = "crawl/c/"
    return {name.removeprefix(prefix): n for name, n in owned.memory.counts.items() if name.startswith(prefix) and n}
