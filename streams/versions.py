"""The last version of each page of the partitions that a worker owns.

The compacted topic ``versions`` holds them, in the partition where the page's records are; each worker keeps a copy of
its partitions in a private file that goes with the process. A partition is read to its end when it is needed for the
first time since a rebalance: somebody else may have had it in between.
"""

import sqlite3
import sys
from collections.abc import Iterable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from infra.kafka.partition_reader import PartitionReader
from infra.kafka.producer import Outbound
from infra.kafka.topics import TopicName
from infra.settings import Settings
from schemas.versions import Version
from schemas.wire import Undecodable, decode

_SCHEMA = "CREATE TABLE versions (partition INTEGER, key BLOB, packed BLOB, PRIMARY KEY (partition, key))"


class Versions:
    """A copy of the topic, partition by partition."""

    def __init__(self, settings: Settings, worker: str) -> None:
        self._settings = settings
        self._worker = worker
        # No name is a temporary file that nobody else sees, and that is gone with the process, however it ends.
        self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._file.execute(_SCHEMA)
        self._read: dict[int, int] = {}
        """Of each partition the offset up to which it is here."""
        self._known: dict[int, object] = {}
        """Of each partition the generation of the group in which it was read to its end."""

    def current(self, partitions: Iterable[int], generation: object) -> bool:
        """Whether all of them are up to date; does not block."""
        return all(self._known.get(partition) == generation for partition in partitions)

    def own(self, partitions: Iterable[int], generation: object) -> None:
        """Have these partitions up to date, in this generation of the group. Blocks: call it from a thread.

        Raises :class:`infra.errors.RetryLater` or :class:`infra.errors.Fatal` when Kafka does not tell.
        """
        for partition in sorted(set(partitions)):
            if self._known.get(partition) != generation:
                self._catch_up(partition)
                self._known[partition] = generation

    def _catch_up(self, partition: int) -> None:
        reader = PartitionReader(self._settings, self._worker, TopicName.VERSIONS, partition)
        try:
            for batch in reader.read(self._read.get(partition, 0)):
                self._put((partition, record.key or b"", record.value) for record in batch)
            self._read[partition] = reader.end
        finally:
            reader.close()

    def former(self, partition: int, key: bytes) -> Version | None:
        """The version that the page had last; ``None`` for a page that was never seen."""
        found = self._file.execute("SELECT packed FROM versions WHERE partition = ? AND key = ?", (partition, key))
        row = found.fetchone()
        if row is None:
            return None
        try:
            return decode(Version, zstd.decompress(row[0]))
        except (Undecodable, zstd.ZstdError):
            # Of another version of the program, or nobody's: then the page is new to us.
            return None

    def put(self, records: Iterable[tuple[int, Outbound]]) -> None:
        """Remember what the broker has, by partition."""
        self._put((partition, record.key or b"", record.value) for partition, record in records)

    def _put(self, records: Iterable[tuple[int, bytes, bytes | None]]) -> None:
        rows = [(partition, key, zstd.compress(value, 1)) for partition, key, value in records if value is not None]
        self._file.execute("BEGIN")
        self._file.executemany("INSERT OR REPLACE INTO versions VALUES (?, ?, ?)", rows)
        self._file.execute("COMMIT")

    def close(self) -> None:
        """Forget everything."""
        self._file.close()


def key_of(crawl: str, url_id: bytes) -> bytes:
    """What a page's version stands under, in the topic and here."""
    return f"{crawl}/".encode() + url_id
