"""What can never succeed, and what became of it."""

from datetime import datetime
from enum import StrEnum

from schemas.records import Record


class DeadLetter(Record):
    """A record that can never succeed, with all that is needed to send it again."""

    letter_id: str
    """The same for the same record of the same stage, so that a repeat folds."""
    stage: str
    reason: str
    error: str
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    """``None`` too when the record was too large to be kept; then ``truncated`` is set."""
    truncated: bool = False
    attempts: int
    at: datetime


class LetterState(StrEnum):
    """How far somebody is with a dead letter; without any it is open."""

    CLAIMED = "claimed"
    REQUEUED = "requeued"
    DROPPED = "dropped"


class Resolution(Record):
    """What became of a dead letter; stands after it on its partition. ``run`` names one run of a command."""

    letter_id: str
    state: LetterState
    run: str
    by: str
    at: datetime
