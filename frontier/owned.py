"""One partition while we own it: its file, its hosts, what it owes."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from frontier.memory import OWNER_HEADER, Memory
from frontier.outbox import unpack
from frontier.partition import USED, Partition
from frontier.publisher import Publisher
from frontier.store import Store
from infra.kafka.changelog import Changelog
from infra.kafka.inbound import Inbound
from infra.kafka.topics import TopicName
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.frontier import PartitionOpened

CHANGELOG_END = "changelog/end"
OWNER = "changelog/owner"


class Mark(NamedTuple):
    """Where ``urls`` ended at a moment at which nothing was owed to it."""

    at_s: float
    end: int


@dataclass
class Owned:
    """What the stage keeps of one partition."""

    partition: Partition
    memory: Memory
    publisher: Publisher
    positions: dict[TopicName, int]
    """The next offset of each source, reflected in the store."""
    payable: dict[TopicName, int]
    """What may be committed to Kafka."""
    mark: Mark | None = None

    def close(self) -> None:
        """Close the file."""
        self.memory.store.close()


class Restored(NamedTuple):
    """A store that is as new as the changelog."""

    store: Store
    memory: Memory
    how: str
    changes: int


def restore(path: Path, number: int, changelog: Changelog) -> Restored:
    """Open the partition's file and bring it up to the changelog, or make it anew from there.

    A file that owes bundles while somebody else has written since cannot be reconciled: what it owes was decided on
    input that the other one has decided on as well. It is thrown away.
    """
    store = Store(path)
    known = store.meta(CHANGELOG_END)
    begin = known if isinstance(known, int) else 0
    owner = str(store.meta(OWNER) or "")
    if store.owed() and any(_foreign(batch, owner) for batch in changelog.read(begin)):
        store.close()
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        return restore(path, number, changelog)
    memory = Memory(store, number)
    changes = 0
    for batch in changelog.read(begin):
        store.begin()
        for each in _foreign(batch, owner):
            memory.apply(each.key or b"", each.value)
            changes += 1
        memory.forget()
        store.commit()
    how = _how(known is None, changes)
    store.begin()
    store.set_meta(CHANGELOG_END, changelog.end)
    if changes:
        store.set_meta(USED, 1)
    store.commit()
    return Restored(store, memory, how, changes)


def _foreign(batch: list[Inbound], owner: str) -> list[Inbound]:
    """The changes that the file does not hold: somebody else's."""
    return [each for each in batch if each.headers.get(OWNER_HEADER, b"").decode(errors="replace") != owner]


def _how(first: bool, changes: int) -> str:
    if first:
        return "restored" if changes else "new"
    return "caught up" if changes else "warm"


def take_over(
    restored: Restored, number: int, owner: str, publisher: Publisher, make: Callable[[Memory], Partition]
) -> Owned:
    """The partition, with what its file still owes on its way again."""
    store = restored.store
    for bundle_number, packed in store.owed():
        publisher.publish(bundle_number, unpack(packed), {})
    store.begin()
    store.set_meta(OWNER, owner)
    partition = make(restored.memory)
    store.set_meta(USED, 1)
    store.commit()
    emit(PartitionOpened(number, restored.how, restored.changes, partition.hosts()))
    return Owned(partition, restored.memory, publisher, {}, {})
