"""What an error of Redis, or of the way to it, means for the records that met it."""

from redis import exceptions

from sinks.judging import Verdict


def judge(error: Exception) -> Verdict:
    """What the client cannot send speaks against its row.

    No memory, a server that loads its data, a replica, a script that was forgotten and a lost connection pass. So does
    a foreign value under a key of ours: somebody has to remove it, and no record is to blame.
    """
    if isinstance(error, (exceptions.DataError, UnicodeError)):
        return Verdict.ROW
    refused = (exceptions.AuthenticationError, exceptions.AuthorizationError, exceptions.NoPermissionError)
    return Verdict.REFUSED if isinstance(error, refused) else Verdict.TROUBLE
