"""One attempt to fetch one URL: what is known of it, and the records that tell it."""

import itertools
import secrets
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b

from fetchers.dialler import Dial
from fetchers.media import Keeping
from schemas.outcomes import Outcome
from schemas.records import Cut, Fetch, Kind, Page, Request

_GZIP, _GZIP_HEADER_BYTES = b"\x1f\x8b", 10
_PROCESS = secrets.token_hex(6)
_NUMBERS = itertools.count()


def new_fetch_id() -> str:
    """32 hex digits, unique for each attempt: milliseconds, so that ids sort by time, the process, a number in it."""
    return f"{time.time_ns() // 1_000_000:012x}{_PROCESS}{next(_NUMBERS) & 0xFFFF_FFFF:08x}"


@dataclass(slots=True)
class Attempt:
    """What was seen, filled in while it goes on. Durations in milliseconds from the start."""

    seen_s: float = 0.0
    """Monotonic time at which the host can have seen the request at the latest; 0 when nothing was sent."""
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    outcome: Outcome = Outcome.UNKNOWN
    status: int | None = None
    error: str | None = None
    head: bytes = b""
    body: bytes = b""
    body_bytes: int = 0
    cut: Cut | None = None
    keeping: Keeping | None = None
    """What becomes of the body, once its type is known."""
    rendered: bool = False
    """Whether the body is what a browser made of what came."""
    content_type: str | None = None
    redirect_to: str | None = None
    retry_after: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    remote_address: str | None = None
    protocol: str | None = None
    tls: str | None = None
    proxy: str | None = None
    dns_ms: float | None = None
    connect_ms: float | None = None
    tls_ms: float | None = None
    first_byte_ms: float | None = None
    total_ms: float = 0.0

    def fail(self, outcome: Outcome, error: str) -> None:
        """Note that nothing usable came."""
        self.outcome, self.error = outcome, error
        self.body = b""
        self.cut = None

    def note(self, dial: Dial) -> None:
        """Note what happened below the request."""
        self.remote_address = dial.facts.address
        self.tls = dial.facts.tls
        self.proxy = dial.facts.proxy
        self.dns_ms = _ms(dial.dns_s)
        self.connect_ms = _ms(dial.connect_s)
        self.tls_ms = _ms(dial.tls_s)

    def records(self, request: Request, worker: str) -> tuple[Page | None, Fetch]:
        """The page, where there is one, and the fetch; both carry the same new ``fetch_id``."""
        fetch_id = new_fetch_id()
        page = None
        if self.outcome is Outcome.OK and request.kind is not Kind.ROBOTS and self.status is not None:
            page = Page(
                fetch_id=fetch_id,
                crawl=request.crawl,
                url=request.url,
                url_id=request.url_id,
                host=request.host,
                visit=request.visit,
                depth=request.depth,
                hops=request.hops,
                parent=request.parent,
                fetched_at=self.started_at,
                status=self.status,
                head=self.head,
                body=self.body,
                cut=self.cut,
                rendered=self.rendered,
                kind=request.kind,
            )
        return page, self._fetch(request, worker, fetch_id)

    def _body_hash(self) -> bytes | None:
        """Of what is whole, or was cut where it always is."""
        if self.outcome is not Outcome.OK or not self.body or self.cut not in (None, Cut.LENGTH):
            return None
        # A gzip header holds the time at which it was made (RFC 1952, 2.3.1).
        body = self.body[_GZIP_HEADER_BYTES:] if self.body.startswith(_GZIP) else self.body
        return blake2b(body, digest_size=16).digest()

    def _fetch(self, request: Request, worker: str, fetch_id: str) -> Fetch:
        is_rules = request.kind is Kind.ROBOTS and self.outcome is Outcome.OK
        return Fetch(
            fetch_id=fetch_id,
            crawl=request.crawl,
            url=request.url,
            url_id=request.url_id,
            host=request.host,
            kind=request.kind,
            lease=request.lease,
            visit=request.visit,
            attempt=request.attempt,
            depth=request.depth,
            hops=request.hops,
            parent=request.parent,
            outcome=self.outcome,
            status=self.status,
            error=self.error,
            started_at=self.started_at,
            dns_ms=self.dns_ms,
            connect_ms=self.connect_ms,
            tls_ms=self.tls_ms,
            first_byte_ms=self.first_byte_ms,
            total_ms=self.total_ms,
            body_bytes=self.body_bytes,
            cut=self.cut,
            content_type=self.content_type,
            redirect_to=self.redirect_to,
            retry_after=self.retry_after,
            etag=self.etag,
            last_modified=self.last_modified,
            remote_address=self.remote_address,
            protocol=self.protocol,
            tls=self.tls,
            proxy=self.proxy,
            robots=request.robots,
            delay_ms=request.delay_ms,
            worker=worker,
            body=self.body if is_rules else None,
            body_hash=None if is_rules else self._body_hash(),
        )


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1_000
