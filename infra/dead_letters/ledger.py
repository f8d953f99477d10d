"""The state of every dead letter, folded from the records of the topic. Pure: no broker, no clock."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from infra.kafka.inbound import Inbound
from infra.kafka.topics import TopicName, all_topics
from schemas.letters import DeadLetter, LetterState, Resolution
from schemas.records import Record
from schemas.url import InvalidUrl, canonicalize
from schemas.wire import CONTRACTS, Undecodable, decode

CLAIM = timedelta(minutes=5)
"""How long a claim keeps others away: far longer than its run needs, so whoever comes later knows that it died."""

_KEPT_CHARACTERS = 200
_URL = re.compile(rb"https?://[^\s\"'<>\\]+")


@dataclass(frozen=True)
class Entry:
    """A letter without its bytes: where it stands, what it is about, how far somebody is with it."""

    letter_id: str
    place: tuple[int, int]
    """Partition and offset in the topic of the dead letters."""
    stage: str
    reason: str
    error: str
    """The first :data:`_KEPT_CHARACTERS` of it: there may be a million entries."""
    topic: str
    partition: int
    offset: int
    host: str | None
    at: datetime
    attempts: int
    truncated: bool
    resolution: Resolution | None = None
    """The one in force: the claim that holds, or how it ended."""
    tried: tuple[datetime, ...] = ()
    """When it was claimed by runs that did not tell how they ended: they may have sent its record, or not."""

    def state(self, now: datetime) -> LetterState | None:
        """How far somebody is with it; ``None``: open."""
        if self.resolution is None or (_is_claim(self.resolution) and now - self.resolution.at > CLAIM):
            return None
        return self.resolution.state


class Ledger:
    """Fed with the records of each partition in their order."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self.positions: dict[int, int] = {}
        """Of each partition the offset after the last record that was added."""

    def __iter__(self) -> Iterator[Entry]:
        """Every letter once, oldest first; a repeat of a letter is the letter."""
        return iter(sorted(self._entries.values(), key=lambda entry: (entry.at, entry.place)))

    def get(self, letter_id: str) -> Entry | None:
        """The letter of this id."""
        return self._entries.get(letter_id)

    def beginning_with(self, prefix: str) -> list[Entry]:
        """The letters whose ids begin so: people type the first digits."""
        return [entry for letter_id, entry in self._entries.items() if letter_id.startswith(prefix)]

    def add(self, records: Iterable[Inbound]) -> None:
        """Apply records of the topic. What is neither letter nor resolution tells nothing."""
        for record in records:
            self.positions[record.partition] = record.offset + 1
            found = _decoded(record.value)
            if isinstance(found, DeadLetter):
                if found.letter_id not in self._entries:
                    self._entries[found.letter_id] = entry(record, found)
            elif found is not None and found.letter_id in self._entries:
                self._resolve(found)

    def _resolve(self, resolution: Resolution) -> None:
        known = self._entries[resolution.letter_id]
        if not _replaces(resolution, known.resolution):
            return
        former = known.resolution
        tried = (*known.tried, former.at) if former is not None and former.run != resolution.run else known.tried
        self._entries[resolution.letter_id] = replace(known, resolution=resolution, tried=tried)


def _decoded(value: bytes | None) -> DeadLetter | Resolution | None:
    try:
        return decode(DeadLetter, value)
    except Undecodable:
        pass
    try:
        return decode(Resolution, value)
    except Undecodable:
        return None


def _is_claim(resolution: Resolution) -> bool:
    return resolution.state is LetterState.CLAIMED


def _replaces(new: Resolution, old: Resolution | None) -> bool:
    """Of two claims at once the first holds; only its own run, or one after it has ended, goes on from there."""
    if old is None:
        return True
    return _is_claim(old) and (new.run == old.run or (_is_claim(new) and new.at - old.at > CLAIM))


def entry(record: Inbound, letter: DeadLetter) -> Entry:
    """The letter as the ledger keeps it."""
    return Entry(
        letter_id=letter.letter_id,
        place=(record.partition, record.offset),
        stage=letter.stage,
        reason=letter.reason,
        error=letter.error[:_KEPT_CHARACTERS],
        topic=letter.topic,
        partition=letter.partition,
        offset=letter.offset,
        host=host_of(letter),
        at=letter.at,
        attempts=letter.attempts,
        truncated=letter.truncated,
    )


def host_of(letter: DeadLetter) -> str | None:
    """The host that the record was about: its own word, else its key, else the first URL in its bytes."""
    for record in contents(letter):
        host = getattr(record, "host", None)
        if isinstance(host, str):
            return host
    topics = {name.value: topic for name, topic in all_topics().items()}
    if letter.key and letter.topic in topics and topics[letter.topic].key == "host":
        return _host(f"https://{letter.key.decode(errors='replace')}/")
    found = _URL.search(letter.value or b"")
    return _host(found[0].decode(errors="replace")) if found else None


def contents(letter: DeadLetter) -> Iterator[Record]:
    """The letter's record, as each contract of its topic that can read it."""
    models = {name: model for model, name in CONTRACTS.items()}
    names = all_topics()[TopicName(letter.topic)].records if letter.topic in set(TopicName) else []
    for name in names:
        try:
            yield decode(models[name], letter.value)
        except Undecodable:
            continue


def _host(url: str) -> str | None:
    try:
        return canonicalize(url).host
    except InvalidUrl:
        return None
