"""W3C trace context, carried in the Kafka header ``traceparent`` from the seed to the row.

A URL's visit has one trace from the frontier on: its id is derived from the crawl, the URL and the visit, so nothing
has to be stored to continue it and anybody can compute it. A seed that comes with a ``traceparent`` keeps its own.
"""

import re
import secrets
from hashlib import blake2b
from typing import NamedTuple

HEADER = "traceparent"

_TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?P<trace>(?!0{32})[0-9a-f]{32})-(?P<span>(?!0{16})[0-9a-f]{16})-[0-9a-f]{2}"
)


class Trace(NamedTuple):
    """``trace_id`` is 32, ``span_id`` 16 lower-case hex digits (W3C Trace Context, 3.2)."""

    trace_id: str
    span_id: str

    def child(self) -> "Trace":
        """The same trace, a new span."""
        return Trace(self.trace_id, secrets.token_hex(8))

    def header(self) -> tuple[str, str | bytes | None]:
        """As a Kafka header; always sampled, because the logs are ours to filter."""
        return HEADER, f"00-{self.trace_id}-{self.span_id}-01".encode()


def trace_of(crawl: str, url_id: bytes, visit: int) -> Trace:
    """The trace of one visit, with a new span."""
    digest = blake2b(url_id + visit.to_bytes(4, "big") + crawl.encode(), digest_size=16)
    return Trace(digest.hexdigest(), secrets.token_hex(8))


def read(headers: dict[str, bytes]) -> Trace | None:
    """The trace in the headers; ``None`` when there is none or it is not valid (then a new one begins)."""
    value = headers.get(HEADER)
    match = _TRACEPARENT.fullmatch(value.decode("ascii", "replace")) if value else None
    return Trace(match["trace"], match["span"]) if match else None
