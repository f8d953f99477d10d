"""Read a body within bounds of size, time and rate; say how it was cut."""

import asyncio
import time
from typing import NamedTuple

from aiohttp import ClientError, ClientPayloadError, StreamReader
from aiohttp.http_exceptions import ContentLengthError, HttpProcessingError, TransferEncodingError

from schemas.records import Cut


class BodyLimits(NamedTuple):
    """Bounds of one body."""

    max_bytes: int
    min_rate_bytes_s: int
    grace_s: float
    """How long the rate is not looked at."""


class Body(NamedTuple):
    """What came. ``error`` is set when it ended by one; with ``cut`` unset the server broke the protocol."""

    data: bytes
    cut: Cut | None = None
    error: Exception | None = None


async def read_body(content: StreamReader, limits: BodyLimits, deadline_s: float) -> Body:
    """Read to the end, or to the first bound; ``deadline_s`` is monotonic time. Never raises but when cancelled."""
    if content.is_eof() and content.exception() is None and content.total_bytes <= limits.max_bytes:
        # All of it came with the header: nothing to wait for, no timer needed.
        return Body(await content.read())
    began_s = time.monotonic()
    chunks: list[bytes] = []
    size = 0

    def late_s() -> float:
        """When what has come so far is too little."""
        return min(deadline_s, began_s + max(limits.grace_s, size / limits.min_rate_bytes_s))

    while True:
        try:
            async with asyncio.timeout_at(late_s()):
                while chunk := await content.readany():
                    chunks.append(chunk)
                    size += len(chunk)
                    if size > limits.max_bytes:
                        return Body(b"".join(chunks)[: limits.max_bytes], Cut.LENGTH)
        except TimeoutError as error:
            # Checked when time is up instead of at each chunk: a body that was fast so far earns more time.
            if time.monotonic() < late_s():
                continue
            return Body(b"".join(chunks), Cut.TIME, error)
        except (ClientError, HttpProcessingError, OSError, ValueError) as error:
            # What came in one go with the error was never read: aiohttp hands out the error first.
            chunks.append(content._read_nowait(-1))  # noqa: SLF001  # there is no public way past the error
            return Body(b"".join(chunks), Cut.DISCONNECT if _is_disconnect(error) else None, error)
        return Body(b"".join(chunks))


def _is_disconnect(error: Exception) -> bool:
    """Whether the connection ended too early, rather than the server sending what is no HTTP."""
    if isinstance(error, ClientPayloadError):
        return isinstance(error.__cause__, ContentLengthError | TransferEncodingError | None)
    return isinstance(error, ClientError | OSError)
