"""The chunked transfer coding (RFC 9112, 7.1), undone as bytes come. Pure.

Read as browsers read it: bare line feeds and space after a size pass, extensions and trailers are skipped; a size that
is no number, or data that runs over its size, is an error as soon as it is seen.
"""

import re
from enum import Enum, auto

from fetchers.faults import BrokenProtocol

_MAX_LINE_BYTES = 16 * 1024
_MAX_TRAILER_BYTES = 64 * 1024
_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?\r?", re.DOTALL)
_SIZE_SO_FAR = re.compile(rb"[ \t]*[0-9A-Fa-f]{0,16}[ \t]*(?:;.*|\r?)", re.DOTALL)
# What nearly all chunks look like, all of it at hand: worth a way of its own.
_PLAIN = re.compile(rb"([0-9A-Fa-f]{1,8})\r\n")


class _At(Enum):
    SIZE = auto()
    DATA = auto()
    AFTER = auto()
    TRAILER = auto()
    END = auto()


class ChunkedBody:
    """One body. Feed it until :attr:`ended`."""

    __slots__ = ("_at", "_left", "_line", "_trailer_bytes", "surplus")

    def __init__(self) -> None:
        self._at = _At.SIZE
        self._left = 0
        self._line = b""
        self._trailer_bytes = 0
        self.surplus = False
        """Whether bytes came after the end."""

    @property
    def ended(self) -> bool:
        """Whether the end has come."""
        return self._at is _At.END

    @property
    def is_whole(self) -> bool:
        """Whether all data has come, though perhaps not the trailer."""
        return self._at in (_At.TRAILER, _At.END)

    def feed(self, data: bytes) -> list[bytes]:
        """The data in these bytes. Raises :class:`BrokenProtocol`."""
        out: list[bytes] = []
        at = 0
        end = len(data)
        while at < end and self._at is not _At.END:
            if self._at is _At.SIZE and not self._line:
                at = _plain_chunks(data, at, out)
                if at == end:
                    break
            if self._at is _At.DATA:
                piece = data[at : at + self._left]
                out.append(piece)
                at += len(piece)
                self._left -= len(piece)
                if not self._left:
                    self._at = _At.AFTER
            else:
                at = self._read_line(data, at)
        self.surplus = at < end
        return out

    def _read_line(self, data: bytes, at: int) -> int:
        end = data.find(b"\n", at)
        line = self._line + data[at : end if end >= 0 else len(data)]
        if self._at is _At.AFTER and line not in (b"", b"\r"):
            raise BrokenProtocol("a chunk longer than its size")
        if len(line) > _MAX_LINE_BYTES:
            raise BrokenProtocol("an endless line in a chunked body")
        if end < 0:
            if self._at is _At.SIZE and not _SIZE_SO_FAR.fullmatch(line):
                raise BrokenProtocol("a chunk without a size")
            self._line = line
            return len(data)
        self._line = b""
        self._take_line(line)
        return end + 1

    def _take_line(self, line: bytes) -> None:
        if self._at is _At.AFTER:
            self._at = _At.SIZE
        elif self._at is _At.SIZE:
            size = _SIZE.fullmatch(line)
            if size is None:
                raise BrokenProtocol("a chunk without a size")
            self._left = int(size[1], 16)
            self._at = _At.DATA if self._left else _At.TRAILER
        else:
            self._trailer_bytes += len(line) + 1
            if self._trailer_bytes > _MAX_TRAILER_BYTES:
                raise BrokenProtocol("an endless trailer")
            if line in (b"", b"\r"):
                self._at = _At.END


def _plain_chunks(data: bytes, at: int, out: list[bytes]) -> int:
    """Take as many whole chunks as are plain, from ``at`` on, to where the first other one begins."""
    match = _PLAIN.match
    while (found := match(data, at)) is not None:
        start = found.end()
        size = int(found[1], 16)
        if not size or data[start + size : start + size + 2] != b"\r\n":
            break
        out.append(data[start : start + size])
        at = start + size + 2
    return at
