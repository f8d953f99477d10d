"""How an attempt ended, from what was seen of it: one table for statuses, one for exceptions. Pure."""

import errno
import ssl
from http import HTTPStatus

from fetchers.faults import Fault
from fetchers.location import REDIRECT_STATUSES
from infra.telemetry.logs import redact
from schemas.outcomes import Outcome

# What lacks is ours: files, memory, local ports. The host is not to blame.
_OUR_TROUBLE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL})

# The first that fits counts, so a class stands before those it derives from. Faults name their outcome themselves.
EXCEPTIONS: tuple[tuple[type[BaseException], Outcome], ...] = (
    (ssl.SSLError, Outcome.TLS_ERROR),
    (TimeoutError, Outcome.TIMEOUT),
    (ConnectionRefusedError, Outcome.CONNECT_ERROR),
    (ConnectionError, Outcome.DISCONNECT),
    (OSError, Outcome.CONNECT_ERROR),
    (ValueError, Outcome.PROTOCOL_ERROR),
)

_STATUSES: dict[int, Outcome] = {
    HTTPStatus.TOO_MANY_REQUESTS: Outcome.RATE_LIMITED,
    HTTPStatus.REQUEST_TIMEOUT: Outcome.TIMEOUT,
}
_CLASSES = {2: Outcome.OK, 4: Outcome.CLIENT_ERROR, 5: Outcome.SERVER_ERROR}


def of_status(status: int, *, conditional: bool) -> Outcome:
    """The outcome of a complete answer; ``conditional`` when validators were sent with the request."""
    if status in REDIRECT_STATUSES:
        return Outcome.REDIRECT
    # Unasked, a 304 says nothing: there is no older body that it could stand for.
    if status == HTTPStatus.NOT_MODIFIED and conditional:
        return Outcome.NOT_MODIFIED
    return _STATUSES.get(status) or _CLASSES.get(status // 100, Outcome.PROTOCOL_ERROR)


def of_exception(error: BaseException) -> Outcome:
    """The outcome of an attempt that ended by ``error`` before a body began."""
    if isinstance(error, Fault):
        return error.outcome
    if isinstance(error, OSError) and error.errno in _OUR_TROUBLE:
        return Outcome.UNKNOWN
    return next((outcome for kind, outcome in EXCEPTIONS if isinstance(error, kind)), Outcome.UNKNOWN)


def describe(error: BaseException) -> str:
    """The error for people: one line, no secret of a URL, nothing that a serialiser trips over."""
    text = f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace").decode()
    return redact(" ".join(text.split()))[:500]
