"""The header of a response as bytes: what came, not what a parser made of it."""

from aiohttp import ClientResponse

_MAX_TEXT = 1_000


class Head:
    """Status line and header lines. Values come as latin-1 text, which every byte has (RFC 9110, 5.5)."""

    def __init__(self, response: ClientResponse) -> None:
        self._values: dict[bytes, list[bytes]] = {}
        version = response.version
        major, minor = (version.major, version.minor) if version else (1, 1)
        reason = (response.reason or "").encode("utf-8", "surrogateescape")
        lines = [b"HTTP/%d.%d %d %s\r\n" % (major, minor, response.status, reason)]
        for name, value in response.raw_headers:
            lines.append(b"%s: %s\r\n" % (name, value))
            self._values.setdefault(name.lower(), []).append(value)
        self.raw = b"".join(lines)
        """As in a WARC response record: each line ended by CRLF."""

    def last(self, name: bytes) -> bytes | None:
        """The last value of a header (name in lower case)."""
        values = self._values.get(name)
        return values[-1] if values else None

    def text(self, name: bytes) -> str | None:
        """The last value as text, cut to what anybody needs."""
        values = self._values.get(name)
        return values[-1][:_MAX_TEXT].decode("latin-1") if values else None

    def texts(self, name: bytes) -> list[str]:
        """All values, in the order they came."""
        return [value[:_MAX_TEXT].decode("latin-1") for value in self._values.get(name, ())]

    def codings(self) -> list[str]:
        """The content codings in the order they were applied."""
        values = ",".join(self.texts(b"content-encoding")).lower().split(",")
        return [coding for value in values if (coding := value.strip(" \t")) not in ("", "identity")]
