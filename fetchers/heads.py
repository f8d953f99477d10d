"""The header of a response, read as browsers read it. Pure.

RFC 9112 says how a header should look; servers send others, and browsers show their pages. What is mended here is what
Chromium and Firefox mend: bare line feeds, up to four bytes of rubbish or blank lines before the status line, a status
line without version or reason, lines that are no fields, space before a colon, folded lines, any byte in a value. What
they refuse is refused: an answer without a status line (HTTP/0.9), lengths that contradict each other.
"""

import re

from fetchers.faults import BrokenProtocol

MAX_INTERIM = 20
"""Interim responses (1xx) before the final one."""

_SLOP_BYTES = 4
_END = re.compile(rb"\n\r*\n")
_START = re.compile(rb"HTTP(?=[/ \t\r\n])|ICY ", re.IGNORECASE)
_STATUS = re.compile(
    rb"(?:HTTP(?:/(?P<major>\d{1,3})(?:\.(?P<minor>\d{1,3}))?)?|ICY)(?=[ \t]|$)"
    rb"[ \t]*(?P<status>\d*)[ \t]*(?P<reason>.*)",
    re.IGNORECASE | re.DOTALL,
)
_NAME = re.compile(rb"[^\x00-\x20\x7f-\xff()<>@,;:\\\"/\[\]?={}]+")
_RANGE = re.compile(rb"bytes[ \t]+(\d{1,18})-(\d{1,18})/(\d{1,18})", re.IGNORECASE)
_DIGITS = re.compile(rb"\d{1,18}")
_MAX_TEXT = 1_000
_SHORTEST_START = len(b"HTTP/") + _SLOP_BYTES

CHUNKED = -1
UNTIL_CLOSE = -2


class Head:
    """Status line and fields of one response. Values are bytes; as text they are latin-1, which every byte has."""

    __slots__ = ("_values", "raw", "reason", "status", "version")

    def __init__(self, raw: bytes) -> None:
        """Of the bytes up to the blank line, without it. Raises :class:`BrokenProtocol`."""
        lines = raw.replace(b"\r\n", b"\n").split(b"\n")
        self.version, self.status, self.reason = _status_line(lines[0])
        self._values: dict[bytes, list[bytes]] = {}
        kept: list[bytes] = []
        is_odd = raw.count(b"\n") != raw.count(b"\r\n")
        for line in lines[1:]:
            if line[:1] in (b" ", b"\t"):
                # A folded line goes on the one before (RFC 9112, 5.2).
                is_odd = True
                if kept:
                    kept[-1] += b" " + line.strip(b" \t\r")
                continue
            name, colon, value = line.partition(b":")
            if colon and _NAME.fullmatch(name):
                kept.append(line)
                continue
            is_odd = True
            name = name.rstrip(b" \t")
            if colon and _NAME.fullmatch(name):
                kept.append(name + b":" + value)
        for line in kept:
            name, _, value = line.partition(b":")
            self._values.setdefault(name.lower(), []).append(value.strip(b" \t\r"))
        self.raw = b"\r\n".join([lines[0].rstrip(b"\r"), *kept, b""]) if is_odd else raw + b"\r\n"
        """As in a WARC response record: each line ended by CRLF, repeated fields kept, bytes as they came."""

    def values(self, name: bytes) -> list[bytes]:
        """All values of a field (name in lower case) in the order they came."""
        return self._values.get(name, [])

    def text(self, name: bytes) -> str | None:
        """The last value as text, cut to what anybody needs."""
        values = self._values.get(name)
        return values[-1][:_MAX_TEXT].decode("latin-1") if values else None

    def texts(self, name: bytes) -> list[str]:
        """All values as text."""
        return [value[:_MAX_TEXT].decode("latin-1") for value in self.values(name)]

    def tokens(self, name: bytes) -> list[bytes]:
        """The elements of a comma-separated field, lower case, of all its lines."""
        return [token for value in self.values(name) for each in value.split(b",") if (token := each.strip().lower())]

    @property
    def keeps_alive(self) -> bool:
        """Whether the server keeps the connection (RFC 9112, 9.3)."""
        options = self.tokens(b"connection")
        return b"close" not in options and (self.version >= (1, 1) or b"keep-alive" in options)

    def framing(self) -> int:
        """Bytes of the body, :data:`CHUNKED` or :data:`UNTIL_CLOSE` (RFC 9112, 6.3). Raises :class:`BrokenProtocol`."""
        if self.status in (204, 304):
            return 0
        codings = [coding for coding in self.tokens(b"transfer-encoding") if coding != b"identity"]
        if codings:
            # Both a coding and a length: the coding counts, and nothing may follow on the connection.
            return CHUNKED if codings[-1] == b"chunked" else UNTIL_CLOSE
        lengths = set(self.tokens(b"content-length"))
        if not lengths:
            return UNTIL_CLOSE
        length = lengths.pop()
        if lengths:
            raise BrokenProtocol("lengths that contradict each other")
        if not _DIGITS.fullmatch(length):
            raise BrokenProtocol("a length that is no number")
        return int(length)

    @property
    def is_ambiguous(self) -> bool:
        """Whether another reader might see the end of the body elsewhere: the connection is not used again."""
        return bool(self.values(b"transfer-encoding") and self.values(b"content-length"))


def is_whole(head: Head) -> bool:
    """Whether what a partial answer (206) holds is all there is (RFC 9110, 14.4)."""
    found = _RANGE.fullmatch(b", ".join(head.values(b"content-range")))
    return found is not None and int(found[1]) == 0 and int(found[2]) + 1 == int(found[3])


def split_head(data: bytes, searched: int) -> tuple[bytes, bytes] | None:
    """Header and what follows it, or ``None`` while it is not complete. The first ``searched`` bytes hold no end of it.

    Raises :class:`BrokenProtocol` as soon as it cannot be one, so that nobody waits for the rest.
    """
    start = 0
    while data[start : start + 1] in (b"\r", b"\n"):
        start += 1
    found = _START.search(data, start, start + _SLOP_BYTES + 5)
    if found is None:
        if len(data) - start >= _SHORTEST_START:
            raise BrokenProtocol("no status line")
        return None
    end = _END.search(data, max(found.start(), searched - 3))
    return (data[found.start() : end.start()].rstrip(b"\r"), data[end.end() :]) if end is not None else None


def can_begin(data: bytes) -> bool:
    """Whether these first bytes of an answer could be those of a header."""
    data = data.lstrip(b"\r\n")[:_SHORTEST_START]
    return b"HTTP/".startswith(data[:5].upper()) or _START.search(data) is not None


def _status_line(line: bytes) -> tuple[tuple[int, int], int, bytes]:
    found = _STATUS.fullmatch(line.rstrip(b" \t\r"))
    if found is None:
        raise BrokenProtocol("no status line")
    major, minor, status, reason = found.group("major", "minor", "status", "reason")
    # A number is all that counts; where it lacks, browsers take the answer for a good one.
    number = int(status[:6]) if status else 200
    if not 100 <= number <= 999:
        raise BrokenProtocol(f"status {number}")
    return ((int(major), int(minor or 0)) if major else (1, 0)), number, reason
