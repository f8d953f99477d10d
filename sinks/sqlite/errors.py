"""What an error of SQLite means for the records that met it."""

import sqlite3

from sinks.judging import Verdict


def judge(error: Exception) -> Verdict:
    """A value that a column cannot hold speaks against its row; a full, locked or missing disk passes.

    SQLITE_TOOBIG and SQLITE_MISMATCH are DataError and IntegrityError in Python (PEP 249), a constraint is the latter.
    """
    if isinstance(error, (sqlite3.DataError, sqlite3.IntegrityError, OverflowError, UnicodeError)):
        return Verdict.ROW
    return Verdict.TROUBLE
