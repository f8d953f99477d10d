"""One response, read from bytes as they come; no I/O, so that any cutting of the bytes can be tested."""

from collections.abc import Callable

from fetchers.chunks import ChunkedBody
from fetchers.faults import BrokenProtocol, Disconnected, Late
from fetchers.heads import CHUNKED, MAX_INTERIM, UNTIL_CLOSE, Head, can_begin, split_head
from schemas.records import Cut

LEAVE_UNREAD = -1
"""For a body that is not worth reading: the connection ends instead."""

_MOST_FRAMING_BYTES = 2**16
"""Beside as much as there is body: each chunk costs time to read, and tiny ones without end are an attack on it."""

Judge = Callable[[Head], int]
"""Hears of the final header; says how many bytes of the body are wanted, or :data:`LEAVE_UNREAD`."""


class Answer:
    """Feed it with :meth:`feed` and :meth:`end` until it is :attr:`done`."""

    __slots__ = (
        *("_chunked", "_data", "_interims", "_judge", "_left", "_limit", "_max_head_bytes", "_wire_bytes", "body"),
        *("cut", "done", "error", "first_s", "head", "keep"),
    )

    def __init__(self, judge: Judge, max_head_bytes: int) -> None:
        self._judge = judge
        self._max_head_bytes = max_head_bytes
        self._data = b""
        self._interims = 0
        self._chunked: ChunkedBody | None = None
        self._left = self._limit = 0
        self.head: Head | None = None
        self._wire_bytes = 0
        self.body: bytes | bytearray = b""
        """What came, transfer coding undone."""
        self.cut: Cut | None = None
        self.error: Exception | None = None
        """Why it did not end well. Without a cut, nothing of it is to be believed."""
        self.first_s = 0.0
        """Monotonic time of the first byte, set by whoever feeds."""
        self.done = False
        self.keep = False
        """Whether the connection can serve another request."""

    def feed(self, data: bytes) -> None:
        """Take what came. Never raises: what is wrong is the :attr:`error`."""
        try:
            if self.head is None:
                data = self._read_head(data)
            if data and self.head is not None:
                self._read_body(data)
        except BrokenProtocol as error:
            self._stop(error)

    def end(self, why: BaseException | None) -> None:
        """The connection was closed, or broke by an error."""
        if self.done:
            return
        told = f": {why}" if why else ""
        if self.head is None and not can_begin(self._data):
            self._stop(BrokenProtocol("no status line"))
        elif self.head is None:
            self._stop(Disconnected(f"the connection ended after {len(self._data)} bytes of a header{told}"))
        elif self._is_whole(why):
            self.done = True
        else:
            self.cut = Cut.DISCONNECT
            self._stop(Disconnected(f"the connection ended in the body{told}"))

    def _is_whole(self, why: BaseException | None) -> bool:
        """Whether an end of the connection now, by an error or without, is a good end of the body."""
        if self._chunked is not None:
            return self._chunked.is_whole
        return self._left == UNTIL_CLOSE and why is None

    def expire(self) -> None:
        """Time is up."""
        if not self.done:
            self.cut = Cut.TIME if self.head is not None else None
            self._stop(Late("no answer in time" if self.head is None else "the body was too slow"))

    def _stop(self, error: Exception) -> None:
        self.error = error
        self.done, self.keep = True, False

    def _read_head(self, data: bytes) -> bytes:
        """What follows the final header; empty while it is not complete."""
        searched = len(self._data)
        data = self._data + data if searched else data
        while (parts := split_head(data, searched)) is not None:
            raw, data = parts
            if len(raw) > self._max_head_bytes:
                break
            head = Head(raw)
            if head.status >= 200 or head.status == 101:
                self._data = b""
                self._begin(head)
                return data
            searched = 0
            self._interims += 1
            if self._interims > MAX_INTERIM:
                raise BrokenProtocol("endless interim responses")
        if parts is not None or len(data) > self._max_head_bytes:
            raise BrokenProtocol(f"a header of more than {self._max_head_bytes} bytes")
        self._data = data
        return b""

    def _begin(self, head: Head) -> None:
        self._left = head.framing()
        self.head = head
        self._limit = self._judge(head)
        self.keep = self._left != UNTIL_CLOSE and head.keeps_alive and not head.is_ambiguous
        if self._limit == LEAVE_UNREAD:
            self.done, self.keep = True, self.keep and self._left == 0
        elif self._left == CHUNKED:
            self._chunked = ChunkedBody()
        elif self._left == 0:
            self.done = True

    def _read_body(self, data: bytes) -> None:
        if self.done:
            # Nothing may follow: it could pass for the answer to the next request (RFC 9112, 11.2).
            self.keep = False
        elif self._chunked is not None:
            self._wire_bytes += len(data)
            self._take(b"".join(self._chunked.feed(data)))
            if self._wire_bytes > _MOST_FRAMING_BYTES + 2 * len(self.body) and not self.done:
                raise BrokenProtocol("more framing than body")
            if self._chunked.ended and not self.done:
                self.done = True
                self.keep = self.keep and not self._chunked.surplus
        elif self._left == UNTIL_CLOSE:
            self._take(data)
        else:
            wanted = data[: self._left]
            self._left -= len(wanted)
            self._take(wanted)
            if not self._left and not self.done:
                self.done = True
                self.keep = self.keep and len(wanted) == len(data)

    def _take(self, data: bytes) -> None:
        if self.done:
            return
        room = self._limit - len(self.body)
        if len(data) > room:
            data = data[:room]
            self.cut, self.done, self.keep = Cut.LENGTH, True, False
        if not self.body:
            self.body = data
            return
        # One growing buffer, not a list of pieces: many tiny ones would take many times their size.
        if isinstance(self.body, bytes):
            self.body = bytearray(self.body)
        self.body += data
