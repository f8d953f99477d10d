"""What an answer of a webhook means for the records that were sent. Pure."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from infra.errors import Failure, NeverValid, RetryLater

LONGEST_WAIT = timedelta(minutes=15)
"""Whatever the receiver asks for: it may be back earlier than it thought."""

_AGAINST_A_ROW = frozenset({400, 413, 422})
_SECONDS = re.compile(r"\d{1,9}")


def failure(where: str, status: int, retry_after: str | None, now: datetime) -> Failure | None:
    """What follows; ``None``: the rows were taken. ``where`` may be shown.

    A redirect is trouble: rows are not sent to whom nobody named. So is a refusal of the user, a missing path and 410,
    which the specification calls the wish for no more: somebody has to mend that, and meanwhile the records wait.
    """
    if 200 <= status < 300:
        return None
    told = f"{where} answers {status}"
    if status in _AGAINST_A_ROW:
        return NeverValid("refused_by_store", told)
    return RetryLater(told, wait(retry_after, now))


def wait(retry_after: str | None, now: datetime) -> timedelta | None:
    """How long to leave the receiver alone (RFC 9110, 10.2.3); ``None``: it did not say."""
    if retry_after is None:
        return None
    text = retry_after.strip()
    if _SECONDS.fullmatch(text):
        return min(timedelta(seconds=int(text)), LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return min(max(moment.replace(tzinfo=moment.tzinfo or UTC) - now, timedelta(0)), LONGEST_WAIT)
