"""Send the records of dead letters again, each once, or write down that nobody wants them."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import attrgetter
from uuid import uuid4

from infra.dead_letters.ledger import CLAIM, Entry, Ledger
from infra.dead_letters.originals import Letter, Originals
from infra.errors import UserError
from infra.kafka.admin import Topics
from infra.kafka.partition_reader import records_between
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from schemas.letters import DeadLetter, LetterState, Resolution
from schemas.wire import decode, encode

_CHUNK_LETTERS = 500
_CHUNK_BYTES = 32 * 2**20
_SEND_WITHIN = timedelta(seconds=60)
_CLOCKS_DIFFER = timedelta(minutes=10)


@dataclass
class Report:
    """What became of the letters that a run was asked to resolve, by their ids."""

    done: list[str] = field(default_factory=list)
    sent_before: list[str] = field(default_factory=list)
    """An earlier run had sent the record and died before it could write that down; now it is written down."""
    ended: list[str] = field(default_factory=list)
    """Requeued or dropped before: left as they are."""
    busy: list[str] = field(default_factory=list)
    """Another run holds them."""
    impossible: dict[str, str] = field(default_factory=dict)
    """Why each of these cannot be sent; it stays open."""


class Redrive:
    """One run over the topic of the dead letters. For commands: its calls block."""

    def __init__(self, settings: Settings, by: str, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._settings = settings
        self._by = by
        self._clock = clock
        self._run = uuid4().hex
        partitions = Topics(settings).partition_counts()
        if TopicName.DEAD_LETTERS not in partitions:
            raise UserError("Kafka lacks the pipeline's topics: run `odradek topics create`")
        self._count = partitions[TopicName.DEAD_LETTERS]
        self._originals = Originals(settings, partitions)
        self._producer = Producer(settings, "odradek-dead-letters")
        self.ledger = Ledger()
        self.catch_up()

    def catch_up(self) -> None:
        """Read what the topic got since the last look."""
        for number in range(self._count):
            first = self.ledger.positions.get(number, 0)
            self.ledger.add(records_between(self._settings, TopicName.DEAD_LETTERS, number, first))

    def letters(self, entries: Iterable[Entry]) -> Iterator[Letter]:
        """The letters whole, partition by partition. One that retention took meanwhile is left out."""
        ordered = sorted(entries, key=attrgetter("place"))
        for number, group in groupby(ordered, key=lambda entry: entry.place[0]):
            wanted = {entry.place[1]: entry for entry in group}
            first, end = min(wanted), max(wanted) + 1
            for record in records_between(self._settings, TopicName.DEAD_LETTERS, number, first, end):
                if (entry := wanted.get(record.offset)) is not None:
                    yield Letter(entry, decode(DeadLetter, record.value), record.headers)

    def resolve(self, entries: Sequence[Entry], state: LetterState) -> Report:
        """Requeue or drop the letters that are open; those that ended before are left alone, so a repeat adds nothing.

        1. Claim: the first claim that stands in a letter's partition holds.
        2. Read the partitions to their ends, and leave out the letters that others claimed first.
        3. Look whether a run whose claim has lapsed sent the record already.
        4. Send the records, and wait for the broker.
        5. Write down how it ended. A run that dies before leaves a claim; when that lapses, another begins at 1.
        """
        report = Report()
        states = {entry.letter_id: entry.state(self._clock()) for entry in entries}
        report.busy += [each for each, found in states.items() if found is LetterState.CLAIMED]
        report.ended += [each for each, found in states.items() if found not in (None, LetterState.CLAIMED)]
        for chunk in _chunks(self.letters(entry for entry in entries if states[entry.letter_id] is None)):
            records = self._records(chunk, report if state is LetterState.REQUEUED else Report())
            self._resolve(
                [each for each in chunk if each.entry.letter_id not in report.impossible], records, state, report
            )
        self.catch_up()
        return report

    def _resolve(
        self, letters: Sequence[Letter], records: Mapping[str, Outbound], state: LetterState, report: Report
    ) -> None:
        claimed_s = time.monotonic()
        self._write((each.entry for each in letters), LetterState.CLAIMED)  # 1
        self.catch_up()  # 2
        ours = {each.entry.letter_id: known for each in letters if (known := self._held(each.entry)) is not None}
        report.busy += [each.entry.letter_id for each in letters if each.entry.letter_id not in ours]
        sent = self._sent_before(ours, records)  # 3
        left = {letter_id: entry for letter_id, entry in ours.items() if letter_id not in sent}
        if timedelta(seconds=time.monotonic() - claimed_s) > CLAIM - 3 * _SEND_WITHIN:
            raise UserError("Kafka answers too slowly to keep a claim: the rest was left alone; try again later")
        if state is LetterState.REQUEUED:
            self._send(records[letter_id] for letter_id in left)  # 4
        self._write((ours[letter_id] for letter_id in sent), LetterState.REQUEUED)  # 5
        self._write(left.values(), state)
        report.sent_before += sorted(sent)
        report.done += left

    def _records(self, letters: Sequence[Letter], report: Report) -> dict[str, Outbound]:
        """What to send for each letter, by its id; of what cannot be sent the report tells why."""
        found: dict[str, Outbound] = {}
        for letter in letters:
            try:
                found[letter.entry.letter_id] = self._originals.record(letter)
            except UserError as error:
                report.impossible[letter.entry.letter_id] = str(error)
        return found

    def _held(self, entry: Entry) -> Entry | None:
        """The letter as the ledger has it now, when our claim on it holds."""
        known = self.ledger.get(entry.letter_id)
        return known if known and known.resolution and known.resolution.run == self._run else None

    def _sent_before(self, ours: Mapping[str, Entry], records: Mapping[str, Outbound]) -> set[str]:
        tried = {each: entry.tried for each, entry in ours.items() if entry.tried and each in records}
        if not tried:
            return set()
        since = min(min(times) for times in tried.values()) - _CLOCKS_DIFFER
        return self._originals.sent({letter_id: records[letter_id] for letter_id in tried}, since)

    def _write(self, entries: Iterable[Entry], state: LetterState) -> None:
        """A resolution for each, on the partition of its letter."""
        at = self._clock()
        self._send(
            Outbound(
                TopicName.DEAD_LETTERS,
                entry.letter_id.encode(),
                encode(Resolution(letter_id=entry.letter_id, state=state, run=self._run, by=self._by, at=at)),
                partition=entry.place[0],
            )
            for entry in entries
        )

    def _send(self, records: Iterable[Outbound]) -> None:
        missing = self._producer.send_all(records, _SEND_WITHIN)
        if missing:
            raise UserError(f"{len(missing)} records did not reach Kafka: {missing[0]}; try again in a few minutes")


def _chunks(letters: Iterable[Letter]) -> Iterator[list[Letter]]:
    """So many letters at once as memory and a claim's time allow."""
    chunk: list[Letter] = []
    size_bytes = 0
    for letter in letters:
        chunk.append(letter)
        size_bytes += len(letter.content.value or b"")
        if len(chunk) >= _CHUNK_LETTERS or size_bytes >= _CHUNK_BYTES:
            yield chunk
            chunk, size_bytes = [], 0
    if chunk:
        yield chunk
