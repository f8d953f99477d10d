"""The header of a request: who we are, what we can read, what we have already."""

from typing import NamedTuple

from infra.settings import Settings
from schemas.records import Request
from schemas.url import Url

ACCEPT = "text/html,application/xhtml+xml;q=0.9,application/xml;q=0.8,*/*;q=0.5"
ACCEPT_ENCODING = "gzip, deflate, br, zstd"
"""What the cleaners can undo within bounds, and nothing else."""


class Sent(NamedTuple):
    """A request as it goes out."""

    raw: bytes
    conditional: bool


class RequestHeaders:
    """Makes the headers of requests."""

    def __init__(self, settings: Settings) -> None:
        agent = settings.identity.user_agent
        self._fixed = f"User-Agent: {agent}\r\nAccept: {ACCEPT}\r\nAccept-Encoding: {ACCEPT_ENCODING}\r\n".encode()

    def of(self, url: Url, request: Request) -> Sent:
        """A GET for a canonical URL, on the condition that it has changed where validators are known."""
        conditions = _conditions(request)
        raw = f"GET {url.path} HTTP/1.1\r\nHost: {url.host}\r\n".encode() + self._fixed + conditions + b"\r\n"
        return Sent(raw, bool(conditions))


def _conditions(request: Request) -> bytes:
    """Headers of a conditional request (RFC 9110, 13.1)."""
    lines = ""
    if request.etag and is_header_value(request.etag):
        lines += f"If-None-Match: {request.etag}\r\n"
    if request.last_modified and is_header_value(request.last_modified):
        lines += f"If-Modified-Since: {request.last_modified}\r\n"
    return lines.encode()


def is_header_value(text: str) -> bool:
    """Whether the text can be sent: a line break in it would be a header of somebody else's choice."""
    return text.isascii() and text.isprintable()
