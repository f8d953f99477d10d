"""State that is kept twice: in the store, and as changes for the changelog. Also the other way round.

A change is one record of the compacted topic ``frontier-state``; its key begins with a letter:

===== =================== ==================================================================================
``u`` fingerprint         a URL: ``q`` + entry (waits), ``l`` + entry (is being fetched), ``d`` + how it ended
``h`` host                a host's trouble
``r`` origin              its newest robots.txt
``k`` lease               a robots.txt that is being fetched; a tombstone when it is not any more
``b`` tally               what a crawl has taken of a host or a domain
===== =================== ==================================================================================
"""

from collections import Counter

from frontier.entry import Entry, Fate, Lane, unpack
from frontier.host import Host
from frontier.outbox import Bundle, pack
from frontier.robots import Rules
from frontier.store import Store
from frontier.tallies import Tallies
from infra.kafka.producer import Headers, Outbound
from infra.kafka.topics import TopicName
from schemas.records import Kind

OWNER_HEADER = "owner"
_RELEASED, _UNRELEASED = "released", "unreleased"


class Memory:
    """Every change of a partition's durable state goes through here, within a transaction of the store."""

    def __init__(self, store: Store, partition: int) -> None:
        self.store = store
        self.counts: Counter[str] = Counter(store.counts())
        self.tallies = Tallies(store)
        self._partition = partition
        self._moved: Counter[str] = Counter()
        self._changes: list[Outbound] = []
        self._rest: list[Outbound] = []

    def queue(self, entry: Entry) -> None:
        """A URL waits: it is new, or is tried again."""
        packed = entry.pack()
        self.store.put(entry, packed)
        self.count_entry(entry, 1, leased=False)
        self._change(b"u" + entry.fingerprint, b"q" + packed)

    def lease(self, entry: Entry) -> None:
        """A URL that waited is being fetched."""
        packed = entry.pack()
        self.store.remove(entry.fingerprint)
        self.store.lease(entry.lease, entry.host, packed)
        self.count_entry(entry, -1, leased=False)
        self.count_entry(entry, 1, leased=True)
        self._change(b"u" + entry.fingerprint, b"l" + packed)

    def unlease(self, entry: Entry) -> None:
        """It is not being fetched any more."""
        self.store.unlease(entry.lease)
        self.count_entry(entry, -1, leased=True)

    def drop(self, entry: Entry) -> None:
        """A URL does not wait any more, without having been fetched."""
        self.store.remove(entry.fingerprint)
        self.count_entry(entry, -1, leased=False)

    def done(self, entry: Entry, fate: Fate, reason: str | None = None) -> None:
        """A visit has ended, for a reason where it was refused; the URL stays seen."""
        ending = _ending(entry, fate, reason)
        self.count_ending(ending, 1)
        self.store.end(entry.fingerprint, ending)
        self._change(b"u" + entry.fingerprint, b"d" + ending.encode())

    def lease_robots(self, lease: str, host: str, packed: bytes) -> None:
        """A robots.txt is being fetched."""
        self.store.lease(lease, host, packed)
        self._change(b"k" + lease.encode(), host.encode() + b"\0" + packed)

    def unlease_robots(self, lease: str) -> None:
        """It is not any more."""
        self.store.unlease(lease)
        self._change(b"k" + lease.encode(), None)

    def put_host(self, host: Host) -> None:
        """A host's trouble has changed."""
        self.store.put_host(host.name, host.pack())
        self._change(b"h" + host.name.encode(), host.pack())

    def put_robots(self, origin: str, rules: Rules) -> None:
        """An origin's robots.txt was read."""
        self.store.put_robots(origin, rules.pack())
        self._change(b"r" + origin.encode(), rules.pack())

    def send(self, record: Outbound) -> None:
        """Owe the world a record."""
        self._rest.append(record)

    def settle(self, owner: str) -> tuple[int, Bundle] | None:
        """Write counts and outbox, before the commit; the bundle and its number, ``None`` when nothing is owed.

        ``owner`` and the number stand on each change, so that whoever wrote it knows it again.
        """
        self.forget()
        for name, packed in self.tallies.take_changed():
            self._change(b"b" + name.encode(), packed)
        if not self._changes and not self._rest:
            return None
        bundle = Bundle(signed(self._changes, owner, self.store.last_bundle() + 1), self._rest)
        self._changes, self._rest = [], []
        return self.store.owe(pack(bundle)), bundle

    def forget(self) -> None:
        """Write the counts, and nothing else: what was applied stands in the changelog already."""
        for name, by in self._moved.items():
            if by:
                self.store.add_count(name, by)
        self._moved.clear()

    def apply(self, key: bytes, value: bytes | None) -> None:
        """Take over one change that the changelog holds; gives the same state as the change itself gave."""
        kind, name = key[:1], key[1:]
        if kind == b"k":
            self._apply_robots_lease(name.decode(), value)
        elif value is None:
            return
        elif kind == b"u":
            self._apply_url(name, value[:1], value[1:])
        elif kind == b"h":
            self.store.put_host(name.decode(), value)
        elif kind == b"r":
            self.store.put_robots(name.decode(), value)
        elif kind == b"b":
            self.store.put_tally(name.decode(), value)

    def _apply_robots_lease(self, lease: str, value: bytes | None) -> None:
        if value is None:
            self.store.unlease(lease)
        else:
            host, _, packed = value.partition(b"\0")
            self.store.lease(lease, host.decode(), packed)

    def _apply_url(self, fingerprint: bytes, state: bytes, rest: bytes) -> None:
        """Replace what is known of a URL, its share of the figures included: so a change may be applied twice."""
        if not self.store.see(fingerprint):
            self._retract(fingerprint)
        if state == b"d":
            self.store.end(fingerprint, rest.decode())
            self.count_ending(rest.decode(), 1)
            return
        entry = unpack(fingerprint, rest)
        if state == b"q":
            self.store.put(entry, rest)
        else:
            self.store.lease(entry.lease, entry.host, rest)
        self.count_entry(entry, 1, leased=state != b"q")

    def _retract(self, fingerprint: bytes) -> None:
        waiting = self.store.queued(fingerprint)
        if waiting is not None:
            self.store.remove(fingerprint)
            self.count_entry(waiting, -1, leased=False)
        found = self.store.lease_of(fingerprint)
        if found is not None:
            self.store.unlease(found[0])
            self.count_entry(unpack(fingerprint, found[1]), -1, leased=True)
        ending = self.store.ended(fingerprint)
        if ending is not None:
            self.store.end(fingerprint, None)
            self.count_ending(ending, -1)

    def count_entry(self, entry: Entry, by: int, *, leased: bool) -> None:
        """The share of a URL that has not ended in the figures."""
        if entry.past is not None:
            self._count_again(entry, by, leased=leased)
            return
        self._count(entry.crawl, "leased" if leased else "queued", by)
        if (leased or entry.attempt) and entry.kind is Kind.PAGE:
            self._count(entry.crawl, "released", by)

    def _count_again(self, entry: Entry, by: int, *, leased: bool) -> None:
        """What was visited before is a page while it waits, and while it is visited again."""
        if leased or entry.lane is not Lane.RECRAWL:
            self._count(entry.crawl, "leased" if leased else "queued", by)
            self._count(entry.crawl, "again", by)
        else:
            self._count(entry.crawl, "revisits", by)
        self._count(entry.crawl, Fate.PAGE if entry.kind is Kind.PAGE else Fate.SITEMAP, by)
        if entry.kind is Kind.PAGE:
            self._count(entry.crawl, "released", by)

    def count_ending(self, ending: str, by: int) -> None:
        """The share of URLs that have ended."""
        crawl, fate, released, *reasons = ending.split("/")
        self._count(crawl, fate, by)
        for reason in reasons:
            self._count(crawl, f"{fate}/{reason}", by)
        if released == _RELEASED:
            self._count(crawl, "released", by)

    def _count(self, crawl: str, what: str, by: int) -> None:
        name = f"crawl/{crawl}/{what}"
        self.counts[name] += by
        self._moved[name] += by

    def _change(self, key: bytes, value: bytes | None) -> None:
        self._changes.append(Outbound(TopicName.FRONTIER_STATE, key, value, partition=self._partition))


def _ending(entry: Entry, fate: Fate, reason: str | None) -> str:
    """How a visit ended, whether it was ever released, and why not: for the figures of whoever restores this alone."""
    was_asked_for = fate is not Fate.REFUSED or entry.attempt > 0 or entry.past is not None
    released = was_asked_for and entry.kind is Kind.PAGE
    ending = f"{entry.crawl}/{fate}/{_RELEASED if released else _UNRELEASED}"
    return ending if reason is None else f"{ending}/{reason}"


def signed(changes: list[Outbound], owner: str, number: int) -> list[Outbound]:
    """The changes of a bundle with their author's name and its number."""
    header: Headers = [(OWNER_HEADER, f"{owner}/{number}")]
    return [change._replace(headers=header) for change in changes]


def author(header: bytes) -> tuple[str, int]:
    """Who wrote a change, in which bundle; nobody when it is not said."""
    owner, _, number = header.decode(errors="replace").rpartition("/")
    return (owner, int(number)) if number.isdecimal() and number.isascii() else ("", 0)
