"""A partition's file made anew from its changelog: a sort, not a million small changes.

Applying a changelog change by change costs two random writes for each, and a changelog holds several changes of each
URL until compaction has been there. So all of it is written down as it comes, sorted once by key and age, and what is
newest of each key goes into tables that grow at their end; the index of the queue is made last. Memory stays bounded:
what is sorted lies in a file beside the new one, and both have names that nothing is opened under until all is done.
"""

import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

from frontier.entry import unpack
from frontier.memory import Memory
from frontier.store import SeenRow, Store, queue_row

Change = tuple[bytes, bytes | None]
"""Key and value of a record of the changelog; ``None`` takes the key back."""

Placed = tuple[int, bytes, bytes | None]
"""A change and its place in the changelog."""

FLUSH = 10_000
"""Changes that are looked at together."""


def rebuild(path: Path, partition: int, batches: Iterable[Sequence[Change]]) -> int:
    """Make the file at ``path`` from every change of a changelog, oldest first; returns how many there were.

    What was at ``path`` is replaced, in one step, when all is written; a process that dies before leaves it as it was.
    """
    made, log = path.with_name(f"{path.name}.new"), path.with_name(f"{path.name}.log")
    for leftover in (made, log):
        discard(leftover)
    with closing(_Log(log)) as changes:
        for batch in batches:
            changes.add(batch)
        with closing(Store(made)) as store, store.bulk():
            _fill(store, Memory(store, partition), changes)
    discard(log)
    discard(path)
    _keep(made)
    made.rename(path)
    _keep(path.parent)
    return changes.count


def discard(path: Path) -> None:
    """Remove a database file and what SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _keep(path: Path) -> None:
    """Nothing was written through while the file was made, so that it was quick."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _fill(store: Store, memory: Memory, changes: "_Log") -> None:
    endings: Counter[str] = Counter()
    for batch in _batches(changes.newest()):
        seen: list[SeenRow] = []
        waiting: list[tuple[int]] = []
        for place, key, value in batch:
            if key[:1] != b"u" or value is None:
                memory.apply(key, value)
            elif value[:1] == b"d":
                ending = value[1:].decode()
                endings[ending] += 1
                seen.append((key[1:], store.ending(ending), None))
            elif value[:1] == b"q":
                seen.append((key[1:], None, place))
                waiting.append((place,))
            else:
                entry = unpack(key[1:], value[1:])
                seen.append((key[1:], None, None))
                store.lease(entry.lease, entry.host, value[1:])
                memory.count_entry(entry, 1, leased=True)
        store.fill(seen, [])
        changes.wait(waiting)
    # Their places are their age, and the queue grows at its end.
    for batch in _batches(changes.waiting()):
        entries = [(place, unpack(key[1:], value[1:]), value[1:]) for place, key, value in batch if value is not None]
        store.fill([], [queue_row(*each) for each in entries])
        for _, entry, _ in entries:
            memory.count_entry(entry, 1, leased=False)
    for ending, count in endings.items():
        memory.count_ending(ending, count)
    memory.forget()


def _batches(changes: Iterator[Placed]) -> Iterator[list[Placed]]:
    while batch := list(islice(changes, FLUSH)):
        yield batch


class _Log:
    """The changes in a file, and the two orders in which they are read."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        # Nobody misses this file after a crash.
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("PRAGMA cache_size = -65536")
        self._db.execute("CREATE TABLE change (place INTEGER PRIMARY KEY, key BLOB NOT NULL, value BLOB)")
        self._db.execute("CREATE TABLE waiting (place INTEGER PRIMARY KEY)")
        self._db.execute("BEGIN")
        self.count = 0

    def close(self) -> None:
        self._db.close()

    def add(self, batch: Sequence[Change]) -> None:
        self._db.executemany("INSERT INTO change (key, value) VALUES (?, ?)", batch)
        self.count += len(batch)

    def newest(self) -> Iterator[Placed]:
        """The last change of each key, by key."""
        last = None
        for change in self._db.execute("SELECT place, key, value FROM change ORDER BY key, place DESC"):
            if change[1] != last:
                last = change[1]
                yield change

    def wait(self, places: list[tuple[int]]) -> None:
        self._db.executemany("INSERT INTO waiting VALUES (?)", places)

    def waiting(self) -> Iterator[Placed]:
        """The changes that let a URL wait, in the order in which they came."""
        return self._db.execute("SELECT place, key, value FROM waiting JOIN change USING (place) ORDER BY place")
