"""What an error of a store means for the records that met it: three words, and what follows from each.

Only what speaks against a row is :attr:`Verdict.ROW`. Everything else (a missing table, a full disk, a server that is
gone, a right that was withdrawn) is the store's trouble, however long it lasts: the records wait. The other way round,
one wrong deployment would pour a topic into the dead letters.
"""

from enum import Enum, auto

from infra.errors import Failure, NeverValid, RetryLater, UserError
from sinks.dsn import scrubbed, shown

_LONGEST_TEXT = 500


class Verdict(Enum):
    """What a store's own error says; each kind of store has a pure ``judge`` that tells it."""

    TROUBLE = auto()
    """Of the store, or of the way to it: the same records again, later, for ever."""
    ROW = auto()
    """At least one row can never be stored: smaller writes come, down to the one bad record."""
    REFUSED = auto()
    """The user, the password or a right: whoever set the DSN has to mend it; told at the start, waited for later."""


def one_line(error: Exception) -> str:
    """The first line of the error, fit for a log or a terminal; its name where it says nothing."""
    return str(error).strip().partition("\n")[0][:_LONGEST_TEXT] or type(error).__name__


def write_failure(verdict: Verdict, error: Exception, dsn: str) -> Failure:
    """What follows for the records of a write that raised ``error``."""
    told = scrubbed(one_line(error), dsn)
    if verdict is Verdict.ROW:
        return NeverValid("refused_by_store", told)
    return RetryLater(f"{shown(dsn)} did not take the rows: {told}")


def open_failure(verdict: Verdict, error: Exception, dsn: str) -> Exception:
    """What follows when the store could not be opened. A refusal has no text of the store: it may name the user."""
    if verdict is Verdict.REFUSED:
        return UserError(f"{shown(dsn)} refuses the user, the password or a right of its DSN")
    return RetryLater(f"{shown(dsn)} cannot be opened: {scrubbed(one_line(error), dsn)}")
