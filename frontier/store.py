"""One partition's durable memory: an SQLite file in WAL mode.

Whatever a batch of input changes, the offsets of that input, and the records that are owed to Kafka because of it (the
outbox) are one transaction. So the file is always the state after some prefix of the input, and nothing that was
decided is ever forgotten before it was published.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from frontier.entry import Entry, Lane, unpack

FORMAT = 4
"""Of the tables and of what is packed in them; a file of another one is made anew from the changelog."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS seen (fingerprint BLOB PRIMARY KEY, ended INTEGER, place INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS endings (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS queue (
    seq INTEGER PRIMARY KEY, fingerprint BLOB NOT NULL, host TEXT NOT NULL, lane TEXT NOT NULL, due_s REAL NOT NULL,
    rank INTEGER NOT NULL, packed BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS leases (lease TEXT PRIMARY KEY, host TEXT NOT NULL, packed BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS hosts (host TEXT PRIMARY KEY, packed BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS robots (origin TEXT PRIMARY KEY, packed BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tallies (name TEXT PRIMARY KEY, packed BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outbox (id INTEGER PRIMARY KEY AUTOINCREMENT, packed BLOB NOT NULL);
"""
_INDEX = "CREATE INDEX IF NOT EXISTS queue_order ON queue (host, lane, due_s, rank)"

SeenRow = tuple[bytes, int | None, int | None]
"""Fingerprint, number of its ending, place in the queue."""
QueueRow = tuple[int, bytes, str, str, float, int, bytes]
_INTO_QUEUE = "INSERT INTO queue VALUES (?, ?, ?, ?, ?, ?, ?)"


class OtherFormat(Exception):
    """Another version of the frontier made the file."""


class Store:
    """The file. ``":memory:"`` makes one for tests. One thread's own."""

    def __init__(self, path: Path | str) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = WAL")
        # Kafka's committed offsets never pass what is durable here, so losing the last transactions costs a replay.
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("PRAGMA cache_size = -16384")
        [found] = self._db.execute("PRAGMA user_version").fetchone()
        if found != FORMAT and self._db.execute("SELECT 1 FROM sqlite_master").fetchone():
            self._db.close()
            raise OtherFormat
        self._db.executescript(_SCHEMA)
        self._db.execute(_INDEX)
        self._db.execute(f"PRAGMA user_version = {FORMAT}")
        row = self._db.execute("SELECT max(seq) FROM queue").fetchone()
        self._seq: int = row[0] or 0
        self._endings: dict[str, int] = dict(self._db.execute("SELECT name, id FROM endings").fetchall())

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def begin(self) -> None:
        """Begin the transaction of a batch."""
        self._db.execute("BEGIN")

    def commit(self) -> None:
        """Make the batch durable."""
        self._db.execute("COMMIT")

    def rollback(self) -> None:
        """Forget the batch."""
        self._db.execute("ROLLBACK")
        # A number that the rollback took out of the file may be given to another name.
        self._endings.clear()

    @contextmanager
    def bulk(self) -> Iterator[None]:
        """What is done within is one transaction into a new file that a crash may spoil: quick, and not durable."""
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("DROP INDEX queue_order")
        self.begin()
        yield
        self._db.execute(_INDEX)
        self.commit()

    def fill(self, seen: Sequence[SeenRow], queue: Sequence[QueueRow]) -> None:
        """Write rows of URLs that the file does not hold; those of one kind are quickest in the order of their keys."""
        self._db.executemany("INSERT INTO seen VALUES (?, ?, ?)", seen)
        self._db.executemany(_INTO_QUEUE, queue)

    def see(self, fingerprint: bytes) -> bool:
        """Remember a URL; ``False`` when it was known."""
        return self._db.execute("INSERT OR IGNORE INTO seen VALUES (?, NULL, NULL)", (fingerprint,)).rowcount > 0

    def knows(self, fingerprint: bytes) -> bool:
        """Whether a URL was ever seen."""
        return self._db.execute("SELECT 1 FROM seen WHERE fingerprint = ?", (fingerprint,)).fetchone() is not None

    def end(self, fingerprint: bytes, name: str | None) -> None:
        """Remember how a seen URL ended; ``None``: it has not, or not any more."""
        number = None if name is None else self.ending(name)
        self._db.execute("UPDATE seen SET ended = ? WHERE fingerprint = ?", (number, fingerprint))

    def ended(self, fingerprint: bytes) -> str | None:
        """How a URL ended."""
        sql = "SELECT name FROM seen JOIN endings ON id = ended WHERE fingerprint = ?"
        row = self._db.execute(sql, (fingerprint,)).fetchone()
        return row[0] if row else None

    def ending(self, name: str) -> int:
        """The number of an ending: there are few, so a URL holds this."""
        if name not in self._endings:
            self._db.execute("INSERT OR IGNORE INTO endings (name) VALUES (?)", (name,))
            self._endings = dict(self._db.execute("SELECT name, id FROM endings").fetchall())
        return self._endings[name]

    def put(self, entry: Entry, packed: bytes) -> None:
        """Let a URL that does not wait yet wait in its host's queue."""
        # The queue grows at its end, and its key is kept beside the fingerprint: one tree less to write into.
        self._seq += 1
        self._db.execute(_INTO_QUEUE, queue_row(self._seq, entry, packed))
        sql = "INSERT INTO seen VALUES (?, NULL, ?) ON CONFLICT (fingerprint) DO UPDATE SET place = excluded.place"
        self._db.execute(sql, (entry.fingerprint, self._seq))

    def remove(self, fingerprint: bytes) -> None:
        """Take a URL out of its queue."""
        # A place is left behind, and may be somebody else's by now: hence the second condition.
        sql = "DELETE FROM queue WHERE seq = (SELECT place FROM seen WHERE fingerprint = ?) AND fingerprint = ?"
        self._db.execute(sql, (fingerprint, fingerprint))

    def head(self, host: str, place: tuple[str, Lane], limit: int) -> list[Entry]:
        """The first URLs of a host in a crawl's lane, by due time, then rank, then age."""
        sql = (
            "SELECT fingerprint, packed, due_s FROM queue WHERE host = ? AND lane = ? ORDER BY due_s, rank, seq LIMIT ?"
        )
        return [_waiting(*row) for row in self._db.execute(sql, (host, _lane(*place), limit))]

    def some(self, host: str, crawl: str | None, limit: int, spared: Lane | None = None) -> list[Entry]:
        """Some URLs that wait for a host, of one crawl or of all, but for those of one lane."""
        sql = "SELECT fingerprint, packed, due_s FROM queue WHERE host = ? AND lane >= ? AND lane < ?"
        first, last = ("", "\U0010ffff") if crawl is None else (f"{crawl}/", f"{crawl}0")
        rows = self._db.execute(f"{sql} AND lane NOT LIKE ? LIMIT ?", (host, first, last, f"%/{spared or '-'}", limit))
        return [_waiting(*row) for row in rows]

    def waiting(self) -> Iterator[tuple[str, str, Lane, int]]:
        """Each host, crawl and lane with URLs that wait, and how many."""
        for host, lane, count in self._db.execute(
            "SELECT host, lane, count(*) FROM queue GROUP BY host, lane"
        ).fetchall():
            crawl, _, name = lane.rpartition("/")
            yield host, crawl, Lane(name), count

    def clamp_due(self, latest_s: float, latest_revisit_s: float) -> None:
        """Let nothing wait beyond these: what a clock that was set back would otherwise delay for long."""
        lane = f"%/{Lane.RECRAWL}"
        sql = "UPDATE queue SET due_s = ? WHERE due_s > ? AND lane"
        self._db.execute(f"{sql} NOT LIKE ?", (latest_s, latest_s, lane))
        self._db.execute(f"{sql} LIKE ?", (latest_revisit_s, latest_revisit_s, lane))

    def lease(self, lease: str, host: str, packed: bytes) -> None:
        """Remember what is being fetched."""
        self._db.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", (lease, host, packed))

    def unlease(self, lease: str) -> None:
        """It is not any more."""
        self._db.execute("DELETE FROM leases WHERE lease = ?", (lease,))

    def leases(self) -> list[tuple[str, str, bytes]]:
        """Everything that is being fetched: lease, host, what was remembered."""
        return self._db.execute("SELECT lease, host, packed FROM leases").fetchall()

    def lease_of(self, fingerprint: bytes) -> tuple[str, bytes] | None:
        """The lease under which a URL is being fetched, and what was remembered of it."""
        prefix = fingerprint.hex()
        sql = "SELECT lease, packed FROM leases WHERE lease >= ? AND lease < ?"
        found: tuple[str, bytes] | None = self._db.execute(sql, (prefix, prefix + "/")).fetchone()
        return found

    def queued(self, fingerprint: bytes) -> Entry | None:
        """The entry of a URL that waits."""
        sql = (
            "SELECT packed, due_s FROM queue WHERE seq = (SELECT place FROM seen WHERE fingerprint = ?) "
            "AND fingerprint = ?"
        )
        row = self._db.execute(sql, (fingerprint, fingerprint)).fetchone()
        return _waiting(fingerprint, *row) if row else None

    def put_robots(self, origin: str, packed: bytes) -> None:
        """Remember the newest robots.txt of an origin."""
        self._db.execute("INSERT OR REPLACE INTO robots VALUES (?, ?)", (origin, packed))

    def robots(self, origin: str) -> bytes | None:
        """The newest robots.txt of an origin."""
        row = self._db.execute("SELECT packed FROM robots WHERE origin = ?", (origin,)).fetchone()
        return row[0] if row else None

    def put_host(self, host: str, packed: bytes) -> None:
        """Remember what is known of a host."""
        self._db.execute("INSERT OR REPLACE INTO hosts VALUES (?, ?)", (host, packed))

    def host(self, host: str) -> bytes | None:
        """What is known of a host."""
        row = self._db.execute("SELECT packed FROM hosts WHERE host = ?", (host,)).fetchone()
        return row[0] if row else None

    def put_tally(self, name: str, packed: bytes) -> None:
        """Remember what was taken of a host or a domain."""
        self._db.execute("INSERT OR REPLACE INTO tallies VALUES (?, ?)", (name, packed))

    def tally(self, name: str) -> bytes | None:
        """What was taken of a host or a domain."""
        row = self._db.execute("SELECT packed FROM tallies WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def add_count(self, name: str, by: int) -> None:
        """Move one of the durable figures."""
        sql = "INSERT INTO counts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = value + excluded.value"
        self._db.execute(sql, (name, by))

    def counts(self) -> dict[str, int]:
        """All durable figures."""
        return dict(self._db.execute("SELECT name, value FROM counts").fetchall())

    def set_meta(self, name: str, value: int | str) -> None:
        """Remember an offset or a name."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def meta(self, name: str) -> int | str | None:
        """What was remembered."""
        row = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def offsets(self) -> dict[str, int]:
        """The next offset of each topic that is read."""
        rows = self._db.execute("SELECT name, value FROM meta WHERE name LIKE 'offset/%'").fetchall()
        return {name.removeprefix("offset/"): int(value) for name, value in rows}

    def last_bundle(self) -> int:
        """The number of the newest bundle that was ever owed; 0 before the first."""
        row = self._db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'outbox'").fetchone()
        return int(row[0]) if row else 0

    def owe(self, packed: bytes) -> int:
        """Put a bundle of records into the outbox; returns its number: one more than :meth:`last_bundle`."""
        return int(self._db.execute("INSERT INTO outbox (packed) VALUES (?)", (packed,)).lastrowid or 0)

    def owed(self) -> list[tuple[int, bytes]]:
        """Every bundle that is still owed, oldest first."""
        return self._db.execute("SELECT id, packed FROM outbox ORDER BY id").fetchall()

    def paid(self, up_to: int) -> None:
        """Every bundle up to this one has been published."""
        self._db.execute("DELETE FROM outbox WHERE id <= ?", (up_to,))


def _waiting(fingerprint: bytes, packed: bytes, due_s: float) -> Entry:
    """An entry of the queue; the column is newer than what was packed, where a clock was set back."""
    return unpack(fingerprint, packed)._replace(due_s=due_s)


def queue_row(place: int, entry: Entry, packed: bytes) -> QueueRow:
    """The row of a URL that waits."""
    return (place, entry.fingerprint, entry.host, _lane(entry.crawl, entry.lane), entry.due_s, entry.rank, packed)


def _lane(crawl: str, lane: Lane) -> str:
    """No name of a crawl holds a slash."""
    return crawl + "/" + lane
