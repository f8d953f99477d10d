"""One partition while we own it: its file, its hosts, what it owes."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from frontier.leases import RELEASED_TO, Watch
from frontier.memory import OWNER_HEADER, Memory, author, signed
from frontier.outbox import unpack
from frontier.partition import USED, Partition
from frontier.publisher import Publisher
from frontier.rebuild import Change, discard, rebuild
from frontier.store import OtherFormat, Store
from infra.errors import Fatal
from infra.kafka.inbound import Inbound
from infra.kafka.partition_reader import PartitionReader
from infra.kafka.topics import TopicName
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.frontier import PartitionOpened

CHANGELOG_END = "changelog/end"
OWNER = "changelog/owner"


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
    owner: str
    """What its changes are signed with: a name of this opening of the file."""
    watches: dict[TopicName, Watch] = field(default_factory=lambda: {topic: Watch() for topic in RELEASED_TO})
    """A search for lost leases in each topic that they are released to."""

    def begin(self) -> None:
        """Begin a transaction. Raises :class:`Fatal` when another process has opened the file since we did."""
        self.memory.store.begin()
        if self.memory.store.meta(OWNER) != self.owner:
            self.memory.store.rollback()
            raise Fatal("the partition's file was opened by another process: this one has lost it")

    def settle(self) -> None:
        """End a transaction that no input stands behind; what it owes is on its way."""
        settled = self.memory.settle(self.owner)
        self.memory.store.commit()
        if settled is not None:
            self.publisher.publish(settled[0], settled[1], {})

    def close(self) -> None:
        """Close the file."""
        self.memory.store.close()


class Restored(NamedTuple):
    """A store that is as new as the changelog."""

    store: Store
    memory: Memory
    how: str
    changes: int


def restore(path: Path, number: int, changelog: PartitionReader) -> Restored:
    """Open the partition's file and bring it up to the changelog, or make it anew from there.

    A file that owes bundles while there are changes that it does not hold cannot be reconciled: what it owes was
    decided on input that somebody else has decided on as well. It is thrown away, as is one that cannot be read.
    """
    try:
        store = Store(path)
    except sqlite3.OperationalError:
        # The disk is full or locked: nothing is wrong with the file.
        raise
    except (sqlite3.DatabaseError, OtherFormat):
        return _anew(path, number, changelog)
    end, owner = store.meta(CHANGELOG_END), str(store.meta(OWNER) or "")
    known = end if isinstance(end, int) else None
    last = store.last_bundle()
    if store.owed() and any(_is_missing(each, owner, last) for batch in changelog.read(known or 0) for each in batch):
        store.close()
        return _anew(path, number, changelog)
    if known is None and not last and changelog.end > changelog.start:
        store.close()
        changes = rebuild(path, number, _read(changelog, 0))
        store = Store(path)
    else:
        changes = _catch_up(Memory(store, number), changelog.read(known or 0), owner)
    store.begin()
    store.set_meta(CHANGELOG_END, changelog.end)
    if changes:
        store.set_meta(USED, 1)
    store.commit()
    return Restored(store, Memory(store, number), _how(known is None, changes), changes)


def _read(changelog: PartitionReader, offset: int) -> Iterator[list[Change]]:
    for batch in changelog.read(offset):
        yield [(each.key or b"", each.value) for each in batch]


def _catch_up(memory: Memory, batches: Iterable[list[Inbound]], owner: str) -> int:
    """Apply what the file does not hold; returns how many changes that were."""
    changes, last = 0, memory.store.last_bundle()
    for batch in batches:
        newest: dict[bytes, bytes | None] = {}
        for each in batch:
            # What follows a change that is missing is newer, whoever wrote it; and to apply a change twice is harmless.
            if changes or _is_missing(each, owner, last):
                newest[each.key or b""] = each.value
                changes += 1
        memory.store.begin()
        # A change replaces all that was known of its key: where compaction has not been yet, most need not be applied.
        for key, value in newest.items():
            memory.apply(key, value)
        memory.forget()
        memory.store.commit()
    return changes


def _anew(path: Path, number: int, changelog: PartitionReader) -> Restored:
    discard(path)
    return restore(path, number, changelog)


def _is_missing(change: Inbound, owner: str, last: int) -> bool:
    """Whether the file does not hold a change: it is somebody else's, or its own and a power cut has taken it."""
    name, number = author(change.headers.get(OWNER_HEADER, b""))
    return name != owner or number > last


def _how(first: bool, changes: int) -> str:
    if first:
        return "restored" if changes else "new"
    return "caught up" if changes else "warm"


def take_over(
    restored: Restored, number: int, owner: str, publisher: Publisher, make: Callable[[Memory], Partition]
) -> Owned:
    """The partition, with what its file still owes on its way again."""
    store = restored.store
    store.begin()
    store.set_meta(OWNER, owner)
    partition = make(restored.memory)
    store.set_meta(USED, 1)
    store.commit()
    for bundle_number, packed in store.owed():
        bundle = unpack(packed)
        again = bundle._replace(changes=signed(bundle.changes, owner, bundle_number))
        publisher.publish(bundle_number, again, {})
    emit(PartitionOpened(number, restored.how, restored.changes, len(partition.hosts())))
    return Owned(partition, restored.memory, publisher, {}, {}, owner)
