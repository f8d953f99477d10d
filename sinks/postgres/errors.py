"""What an error of PostgreSQL, or of the way to it, means for the records that met it."""

import psycopg

from sinks.judging import Verdict

DATA_ERRORS = ("22", "23")
"""Classes of SQLSTATE that speak against a row: data exception, integrity constraint violation."""
TOO_LARGE = "54000"
"""program_limit_exceeded: a key that fits no index page, a row that fits no page."""
REFUSED = ("28", "42501")
"""invalid_authorization_specification, insufficient_privilege."""

# While connecting, libpq hands on the server's words without their SQLSTATE; these are auth.c's and postinit.c's.
_REFUSALS = ("authentication failed", "no pg_hba.conf entry", "is not permitted to log in", "permission denied")
_MISSING = ("does not exist",)


def judge(error: Exception) -> Verdict:
    """By the SQLSTATE (PostgreSQL 15, appendix A); without one by the words of a refused connection.

    53 (no disk, no memory, too many connections), 57 (shutdown, start-up, time out), 40 (deadlock), 25006 (a standby)
    and a missing table pass, so the rows wait.
    """
    if isinstance(error, (UnicodeError, OverflowError)):
        return Verdict.ROW
    if not isinstance(error, psycopg.Error):
        return Verdict.TROUBLE
    state = error.sqlstate
    if state is None:
        words = str(error)
        missing = "FATAL" in words and any(each in words for each in _MISSING)
        return Verdict.REFUSED if missing or any(each in words for each in _REFUSALS) else Verdict.TROUBLE
    if state.startswith(DATA_ERRORS) or state == TOO_LARGE:
        return Verdict.ROW
    return Verdict.REFUSED if state.startswith(REFUSED) or state == "3D000" else Verdict.TROUBLE
