"""The state of dead letters, folded from the topic, and which of them somebody means."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.dead_letters.ledger import CLAIM, Entry, Ledger, host_of
from infra.dead_letters.selection import Selection
from infra.errors import UserError
from infra.kafka.inbound import Inbound
from schemas.letters import DeadLetter, LetterState, Resolution
from schemas.records import Decision, Seed
from schemas.wire import encode

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
ID = "a1b2c3d4"


def letter(letter_id: str = ID, **changes: object) -> DeadLetter:
    """A letter about a broken record of ``documents``."""
    made = DeadLetter(
        letter_id=letter_id,
        stage="sinks",
        reason="undecodable",
        error="no record",
        topic="documents",
        partition=0,
        offset=7,
        key=b"k",
        value=b"v",
        attempts=1,
        at=NOON,
    )
    return made.model_copy(update=changes)


def resolution(state: LetterState, run: str, at: datetime = NOON, letter_id: str = ID) -> Resolution:
    """What ``run`` writes about the letter."""
    return Resolution(letter_id=letter_id, state=state, run=run, by="somebody", at=at)


def ledger(*records: DeadLetter | Resolution) -> Ledger:
    """The fold of one partition."""
    made = Ledger()
    made.add(Inbound("dead-letters", 0, offset, None, encode(each), {}, 0) for offset, each in enumerate(records))
    return made


def state(*records: DeadLetter | Resolution, now: datetime = NOON) -> LetterState | None:
    """The state of the letter after these records."""
    found = ledger(*records).get(ID)
    assert found is not None
    return found.state(now)


def holder(*records: DeadLetter | Resolution) -> str | None:
    """The run whose word on the letter counts."""
    found = ledger(*records).get(ID)
    assert found is not None
    return found.resolution.run if found.resolution else None


def test_a_letter_is_open_until_somebody_resolves_it() -> None:
    """Open, claimed, requeued or dropped; a repeat of the letter, which a killed stage writes, opens nothing again."""
    claim = resolution(LetterState.CLAIMED, "a")
    assert state(letter()) is None
    assert state(letter(), claim) is LetterState.CLAIMED
    for end in (LetterState.REQUEUED, LetterState.DROPPED):
        assert state(letter(), claim, resolution(end, "a"), letter(at=NOON + CLAIM)) is end
    assert len(list(ledger(letter(), letter(at=NOON + CLAIM)))) == 1


def test_of_two_claims_the_first_holds() -> None:
    """Who claims second, or ends what another claimed, changes nothing."""
    first, second = resolution(LetterState.CLAIMED, "a"), resolution(LetterState.CLAIMED, "b")
    assert holder(letter(), first, second) == "a"
    assert state(letter(), first, resolution(LetterState.DROPPED, "b")) is LetterState.CLAIMED


def test_a_claim_that_is_not_kept_lapses() -> None:
    """Later the letter is open again, a new claim holds, and it is known that the record may have been sent."""
    later = NOON + CLAIM + timedelta(seconds=1)
    first, second = resolution(LetterState.CLAIMED, "a"), resolution(LetterState.CLAIMED, "b", later)
    assert state(letter(), first, now=later) is None
    assert holder(letter(), first, second) == "b"
    found = ledger(letter(), first, second).get(ID)
    assert found is not None
    assert found.tried == (NOON,)


def test_what_was_resolved_stays_so() -> None:
    """No later word changes an end."""
    ended = (letter(), resolution(LetterState.CLAIMED, "a"), resolution(LetterState.REQUEUED, "a"))
    later = NOON + 10 * CLAIM
    for again in LetterState:
        assert state(*ended, resolution(again, "b", later), now=later) is LetterState.REQUEUED


_WORDS = st.builds(
    resolution,
    st.sampled_from(LetterState),
    st.sampled_from("abc"),
    st.integers(0, 30).map(lambda minutes: NOON + timedelta(minutes=minutes)),
)


@given(st.lists(_WORDS, max_size=12).map(lambda words: sorted(words, key=lambda word: word.at)))
def test_one_end_at_most(words: list[Resolution]) -> None:
    """Whatever the runs write, once a letter has ended its end and its holder never change."""
    ends = [
        found.resolution
        for count in range(len(words) + 1)
        if (found := ledger(letter(), *words[:count]).get(ID)) is not None
        and found.resolution is not None
        and found.resolution.state is not LetterState.CLAIMED
    ]
    assert all(end == ends[0] for end in ends)


def test_foreign_records_tell_nothing() -> None:
    """Garbage, tombstones and words about letters that are gone are passed over, and counted as read."""
    made = Ledger()
    values = [b"garbage", None, encode(resolution(LetterState.DROPPED, "a", letter_id="gone")), encode(letter())]
    made.add(Inbound("dead-letters", 3, 10 + each, None, value, {}, 0) for each, value in enumerate(values))
    assert [each.letter_id for each in made] == [ID]
    assert made.positions == {3: 14}


def test_a_letter_names_its_host_when_anything_does() -> None:
    """By the record's own word, by the key where hosts are keys, by the first URL in the bytes, or not at all."""
    decision = Decision(
        crawl="c", url="http://a.test/", url_id=b"1", host="a.test", stage="s", reason="r", depth=0, at=NOON
    )
    assert host_of(letter(topic="events", value=encode(decision), key=b"x.test")) == "a.test"
    assert host_of(letter(topic="fetches", value=b"broken", key=b"B.test:8080")) == "b.test:8080"
    assert host_of(letter(topic="seeds", value=encode(Seed(url="https://c.test/x")), key=None)) == "c.test"
    assert host_of(letter(topic="seeds", value=b'{"url": "https://d.test/", "crawl": 7}', key=None)) == "d.test"
    assert host_of(letter(value=b"\xff\xfe")) is None
    assert host_of(letter(topic="no-topic-of-ours", value=None, truncated=True)) is None


def chosen(selection: Selection) -> list[str]:
    """The letters that it means, of three."""
    made = ledger(
        letter("aaaa1", topic="seeds", stage="streams", value=b"http://a.test/", key=None),
        letter("aaaa2", at=NOON + timedelta(hours=1), reason="unstorable"),
        letter("bbbb3", at=NOON + timedelta(hours=2)),
    )
    found: list[Entry] = selection.of(made)
    return [each.letter_id for each in found]


def test_a_selection_means_what_fits_all_its_parts() -> None:
    """Stage, reason, topic, host, ids and a time that ends before its end."""
    assert chosen(Selection()) == ["aaaa1", "aaaa2", "bbbb3"]
    assert chosen(Selection(stage="streams")) == ["aaaa1"]
    assert chosen(Selection(reason="undecodable")) == ["aaaa1", "bbbb3"]
    assert chosen(Selection(topic="documents", reason="undecodable")) == ["bbbb3"]
    assert chosen(Selection(host="a.test")) == ["aaaa1"]
    assert chosen(Selection(since=NOON + timedelta(hours=1), until=NOON + timedelta(hours=2))) == ["aaaa2"]
    assert chosen(Selection(ids=("bbbb", "aaaa1"))) == ["aaaa1", "bbbb3"]


@pytest.mark.parametrize(("digits", "said"), [("cccc", "no dead letter"), ("aaaa", "more digits"), ("b", "at least 4")])
def test_digits_that_mean_no_letter_or_several_are_told(digits: str, said: str) -> None:
    """The user learns what to type."""
    with pytest.raises(UserError, match=said):
        chosen(Selection(ids=(digits,)))
