"""How an attempt ended, from what was seen of it: one table for statuses, one for exceptions. Pure."""

import errno
import socket
import ssl
from http import HTTPStatus

from aiohttp import (
    ClientConnectionError,
    ClientConnectorDNSError,
    ClientConnectorError,
    ClientError,
    ClientOSError,
    ClientPayloadError,
    ClientResponseError,
    ClientSSLError,
    InvalidURL,
    ServerDisconnectedError,
)
from aiohttp.http_exceptions import HttpProcessingError

from fetchers.location import REDIRECT_STATUSES
from infra.telemetry.logs import redact
from schemas.outcomes import Outcome

_NO_SUCH_HOST = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})

# What lacks is ours: files, memory, local ports. The host is not to blame.
_OUR_TROUBLE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL})

# The first that fits counts, so a class stands before those it derives from.
EXCEPTIONS: tuple[tuple[type[BaseException], Outcome], ...] = (
    (ClientSSLError, Outcome.TLS_ERROR),
    (ssl.SSLError, Outcome.TLS_ERROR),
    (ssl.CertificateError, Outcome.TLS_ERROR),
    (TimeoutError, Outcome.TIMEOUT),
    (ClientConnectorDNSError, Outcome.DNS_ERROR),
    (ClientConnectorError, Outcome.CONNECT_ERROR),
    (ClientResponseError, Outcome.PROTOCOL_ERROR),
    (InvalidURL, Outcome.PROTOCOL_ERROR),
    (HttpProcessingError, Outcome.PROTOCOL_ERROR),
    (ClientPayloadError, Outcome.DISCONNECT),
    (ServerDisconnectedError, Outcome.DISCONNECT),
    (ClientOSError, Outcome.DISCONNECT),
    (ClientConnectionError, Outcome.DISCONNECT),
    (ClientError, Outcome.PROTOCOL_ERROR),
    (UnicodeError, Outcome.PROTOCOL_ERROR),
    (ValueError, Outcome.PROTOCOL_ERROR),
    (ConnectionError, Outcome.DISCONNECT),
    (OSError, Outcome.CONNECT_ERROR),
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
    if isinstance(error, OSError) and error.errno in _OUR_TROUBLE:
        return Outcome.UNKNOWN
    if isinstance(error, ClientConnectorDNSError) and error.os_error.errno in _NO_SUCH_HOST:
        return Outcome.NO_SUCH_HOST
    return next((outcome for kind, outcome in EXCEPTIONS if isinstance(error, kind)), Outcome.UNKNOWN)


def describe(error: BaseException) -> str:
    """The error for people: one line, no secret of a URL, nothing that a serialiser trips over."""
    if isinstance(error, ServerDisconnectedError):
        # aiohttp's own text shows all headers that came, cookies too.
        return "ServerDisconnectedError: the connection was closed before the response header was complete"
    text = f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace").decode()
    return redact(" ".join(text.split()))[:500]
