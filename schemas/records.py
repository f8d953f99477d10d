"""One model for each kind of record. Field by field they are the Avro contracts of ``schemas/avro`` (a test compares).

Times are timezone-aware UTC with microseconds and are stamps, never used to measure. Names of hosts and URLs are
canonical (:mod:`schemas.url`). ``crawl`` is the name of a crawl, ``visit`` counts the visits of one URL from 0 (a retry
belongs to the same visit), ``depth`` the links from a seed, ``hops`` the redirects in a row that led here.
"""

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from schemas.outcomes import Outcome

DEFAULT_CRAWL = "default"
_CRAWL_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"


class Record(BaseModel):
    """What every record has in common: immutable, and no field that the contract does not know."""

    # As JSON, for people and programs, the hashes are hex: they are no text.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="hex")


class Reason(StrEnum):
    """Why a URL was handed to the frontier."""

    SEED = "seed"
    LINK = "link"
    REDIRECT = "redirect"
    SITEMAP = "sitemap"
    REVISIT = "revisit"


class Kind(StrEnum):
    """What a request is for."""

    PAGE = "page"
    ROBOTS = "robots"
    SITEMAP = "sitemap"
    """A sitemap or a feed: no page, but a source of URLs."""


class Cut(StrEnum):
    """Why a body is shorter than the server meant it to be."""

    LENGTH = "length"
    TIME = "time"
    DISCONNECT = "disconnect"
    DECODE = "decode"
    """Its content coding breaks off, or cannot be undone: only where it was undone, in a robots.txt."""


class Seed(Record):
    """A wish to crawl, from anybody: the public door. Depth and priority are ours to set, never the record's."""

    url: str
    crawl: str = Field(default=DEFAULT_CRAWL, pattern=_CRAWL_NAME)
    kind: Kind = Kind.PAGE
    """A page, or a sitemap or feed whose URLs are wanted."""


class Crawl(Record):
    """The definition of a crawl, kept in the ``control`` topic under ``crawl/NAME``; ``None`` means no limit."""

    name: str = Field(pattern=_CRAWL_NAME)
    scope: str = "host"
    anchors: list[str] = []
    """Canonical URLs: the hosts, domains or prefixes that belong to the crawl beside the one a link is found on."""
    include: list[str] = []
    exclude: list[str] = []
    max_depth: int | None = Field(default=None, ge=0)
    max_pages: int | None = Field(default=None, ge=1)
    delay_ms: int | None = Field(default=None, ge=0)
    """Least time between two requests to one host; ``None`` takes the frontier's setting."""
    follow_robots: bool = True
    weight: int = Field(default=1, ge=1, le=1_000)
    """Its share of a host that several crawls want pages of."""
    sitemaps: bool = True
    """Whether the sitemaps that a robots.txt names are read."""
    revisit: bool = False
    """Whether pages are visited again and again: such a crawl has no end."""
    created_at: datetime


class Proxies(Record):
    """Proxies that all fetchers use beside those of their settings, kept in the ``control`` topic."""

    text: str = Field(repr=False, max_length=500_000)
    """A URL a line, tiers parted by blank lines. They hold credentials: whoever reads the topic may use them."""
    by: str
    at: datetime


class Links(Record):
    """URLs of one host that one page (or seed, redirect, sitemap) names."""

    crawl: str
    host: str
    reason: Reason
    depth: int
    """Of the URLs, not of the page that holds them."""
    hops: int = 0
    parent: str | None = None
    urls: list[str]
    kind: Kind = Kind.PAGE
    """What is expected there."""
    priorities: list[int] = []
    """Of each of :attr:`urls`, higher is sooner (as :class:`schemas.orders.Order` counts); empty: 0 for all."""
    modified: list[int] = []
    """When each of :attr:`urls` was modified by what names it, in seconds since the epoch, 0 unknown; or empty."""


class Request(Record):
    """One URL that may be fetched now. ``lease`` names this permission; the result frees the host."""

    crawl: str
    url: str
    url_id: bytes
    host: str
    kind: Kind
    lease: str
    visit: int
    attempt: int
    depth: int
    hops: int
    parent: str | None
    delay_ms: int
    """The host's delay: what a new owner of the partition waits before it repeats what the old one may have sent."""
    robots: str | None
    """Hash of the robots.txt version that allows the URL."""
    etag: str | None = None
    last_modified: str | None = None
    released_at: datetime


class Fetch(Record):
    """What became of one request: feedback to the frontier and a row for analysts."""

    fetch_id: str
    crawl: str
    url: str
    url_id: bytes
    host: str
    kind: Kind
    lease: str
    visit: int
    attempt: int
    depth: int
    hops: int
    parent: str | None
    outcome: Outcome
    status: int | None
    error: str | None
    """For people; the outcome is for programs."""
    started_at: datetime
    dns_ms: float | None
    connect_ms: float | None
    """Of the transport alone."""
    tls_ms: float | None = None
    first_byte_ms: float | None
    total_ms: float
    body_bytes: int
    cut: Cut | None
    content_type: str | None
    redirect_to: str | None
    """Absolute URL, not yet judged."""
    retry_after: str | None
    etag: str | None
    last_modified: str | None
    remote_address: str | None
    protocol: str | None = None
    """As the server names it: ``HTTP/1.1``."""
    tls: str | None = None
    """Version and cipher suite."""
    proxy: str | None = None
    """Through which it went, without credentials; then :attr:`remote_address` is the proxy's."""
    robots: str | None
    """Of a page: hash of the robots.txt version that allowed it. In the topic ``robots``: of the version this is."""
    delay_ms: int | None = None
    """The host's delay when the request was released: what had to pass since the request before."""
    worker: str
    body: bytes | None = None
    """Of a robots.txt only: at most 500 KiB, content codings undone."""
    body_hash: bytes | None = None
    """BLAKE2b-128 of a whole body as it came, but for the time in a gzip header: whether a page has changed."""


class Page(Record):
    """A response as it came over the wire: transfer coding undone, content codings left alone."""

    fetch_id: str
    crawl: str
    url: str
    url_id: bytes
    host: str
    visit: int
    depth: int
    hops: int
    parent: str | None
    fetched_at: datetime
    status: int
    head: bytes
    """Status line and header lines, CRLF between them and after the last, as in a WARC response record."""
    body: bytes
    cut: Cut | None
    body_at: str | None = None
    """Where the body lies that no record can hold, by its BLAKE2b-256; :attr:`body` is empty then."""
    rendered: bool = False
    """Whether the body is what a browser made of the response: HTML in UTF-8, without codings, and so the head says."""
    kind: Kind = Kind.PAGE


class Document(Record):
    """A page made readable. One for each (crawl, url, visit). The contract describes every field."""

    fetch_id: str
    crawl: str
    url: str
    url_id: bytes
    host: str
    visit: int
    depth: int
    parent: str | None
    fetched_at: datetime
    status: int
    content_type: str | None
    charset: str | None
    title: str | None
    text: str
    links: list[str]
    content_hash: bytes
    body_bytes: int
    cut: Cut | None
    flags: list[str] = []
    cleaner: str
    cleaned_at: datetime
    language: str | None = None
    author: str | None = None
    published: str | None = None
    modified: str | None = None
    """Both ISO 8601, as exact as the page has it, with the offset that it names; never after ``fetched_at``."""
    site_name: str | None = None
    description: str | None = None
    canonical: str | None = None
    images: list[str] = []
    json_ld: list[str] = []
    headings: list[str] = []
    anchors: list[str] = []
    words: int = 0
    link_density: float = 0.0
    simhash: int = 0
    sources: dict[str, str] = {}
    extracted: str = "{ }"
    """Of per-site rules and custom cleaners: JSON. Not ``{}``: Apicurio takes no contract with that default."""
    rules: str | None = None
    markdown: str = ""
    duplicate_of: str | None = None
    near_duplicate_of: str | None = None


class Decision(Record):
    """Why a URL was not crawled, or will not be again. Repeats of a seen URL are counted, not recorded."""

    crawl: str
    url: str
    url_id: bytes
    host: str
    stage: str
    reason: str
    detail: str | None = None
    depth: int
    at: datetime


class Heartbeat(Record):
    """One worker's sign of life, kept in a compacted topic under the worker's name."""

    worker: str
    stage: str
    url: str
    """Where its health and metrics are served."""
    started_at: datetime
    at: datetime
    every_s: float
    stopping: bool = False
    ready: bool
    partitions: list[int]
    counts: dict[str, int]
    positions: dict[str, int]
    """``topic/partition`` to the first offset not yet reflected in ``counts``; empty for stages without state."""
