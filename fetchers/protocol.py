"""aiohttp's client protocol, mended where it loses what a browser keeps.

Some servers send more bytes than their Content-Length says. aiohttp's parser refuses the whole response then, a browser
shows what was declared. Here the surplus is cut off before the parser sees it, and the connection is not used again, so
that the surplus cannot pass for the answer to the next request (RFC 9112, 6.3 and 11.2).

Where a body breaks the protocol in its middle, aiohttp closes the connection without telling the reader of the body,
who then waits for nothing; and a body without a declared length that ends by a reset passes for complete.
"""

import re
from typing import Any

from aiohttp import ClientPayloadError
from aiohttp.client_proto import ResponseHandler

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_DECLARED = re.compile(rb"\nContent-Length:[ \t]*(\d{1,18})[ \t]*\r?(?=\n)", re.IGNORECASE)
_TRANSFER_CODED = re.compile(rb"\nTransfer-Encoding:", re.IGNORECASE)
_BODILESS = frozenset({b"204", b"304"})


def declared_end(data: bytes) -> int | None:
    """Where the response that begins ``data`` ends by its Content-Length, headers included; ``None`` if unknown.

    That is so while the header is not complete, and when no length counts or is not declared by one value. Interim
    responses (1xx) before it are skipped.
    """
    start = 0
    while (head := _HEAD_END.search(data, start)) is not None:
        status = data[start + 9 : start + 12]
        if status in _BODILESS:
            return head.end()
        if not status.startswith(b"1"):
            lengths = set(_DECLARED.findall(data, start, head.end()))
            if len(lengths) != 1 or _TRANSFER_CODED.search(data, start, head.end()):
                return None
            return head.end() + int(lengths.pop())
        start = head.end()
    return None


class MendedResponseHandler(ResponseHandler):
    """Gets no byte beyond the declared end of a response, and tells every bad end to whoever reads the body."""

    _fresh = True
    _left: int | None = None

    def set_response_params(self, **params: Any) -> None:
        """A request goes out: the next bytes begin its response."""
        self._fresh, self._left = True, None
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Pass on what belongs to the response."""
        # aiohttp passes empty data to go on with what it holds.
        if self._fresh and data:
            self._fresh = False
            self._left = declared_end(data)
        if self._left is not None and data:
            if len(data) > self._left:
                data = data[: self._left]
                self.force_close()
                if not data:
                    return
            self._left -= len(data)
        super().data_received(data)

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        """The connection is broken: the body is too."""
        super().set_exception(exc, *cause)
        self._break_payload(exc)

    def connection_lost(self, exc: BaseException | None) -> None:
        """A reset is no end of a body, whatever its length."""
        if exc is not None:
            self._break_payload(ClientPayloadError(f"the connection broke: {exc}"))
        super().connection_lost(exc)

    def _break_payload(self, error: BaseException) -> None:
        payload = self._payload
        if payload is not None and not payload.is_eof() and payload.exception() is None:
            payload.set_exception(error)
