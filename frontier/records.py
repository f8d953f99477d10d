"""The records that the frontier sends to the world."""

from datetime import UTC, datetime, timedelta

from frontier.entry import Entry
from frontier.leases import destination
from infra.kafka.producer import Outbound
from infra.kafka.topics import TopicName
from infra.telemetry.tracing import Trace, trace_of
from schemas.records import Decision, Fetch, Kind, Links, Reason, Request
from schemas.url import Url, url_id
from schemas.wire import encode

STAGE = "frontier"


def trace(entry: Entry) -> Trace:
    """The trace of an entry's visit: that of its seed when it came with one."""
    derived = trace_of(entry.crawl, url_id(entry.url), entry.visit)
    return Trace(entry.trace_id, derived.span_id) if entry.trace_id else derived


def page_request(entry: Entry, about: Trace, delay: timedelta, robots: str | None) -> Outbound:
    """Permission to fetch a page or a sitemap."""
    request = Request(
        crawl=entry.crawl,
        url=entry.url,
        url_id=url_id(entry.url),
        host=entry.host,
        kind=entry.kind,
        lease=entry.lease,
        visit=entry.visit,
        attempt=entry.attempt,
        depth=entry.depth,
        hops=entry.hops,
        parent=entry.parent,
        delay_ms=round(delay.total_seconds() * 1000),
        robots=robots,
        etag=entry.past.etag if entry.past else None,
        last_modified=entry.past.last_modified if entry.past else None,
        released_at=datetime.now(UTC),
    )
    return Outbound(destination(entry), entry.host.encode(), encode(request), [about.header()])


def robots_request(lease: str, crawl: str, host: str, url: str, about: tuple[int, timedelta]) -> Outbound:
    """Permission to fetch a robots.txt; ``about`` holds the redirects that led here and the host's delay."""
    hops, delay = about
    request = Request(
        crawl=crawl,
        url=url,
        url_id=url_id(url),
        host=host,
        kind=Kind.ROBOTS,
        lease=lease,
        visit=0,
        attempt=0,
        depth=0,
        hops=hops,
        parent=None,
        delay_ms=round(delay.total_seconds() * 1000),
        robots=None,
        released_at=datetime.now(UTC),
    )
    return Outbound(TopicName.URLS, host.encode(), encode(request), [trace_of(crawl, request.url_id, 0).header()])


def decision(entry: Entry, reason: str, detail: str | None = None) -> Outbound:
    """Why a URL is not fetched."""
    record = Decision(
        crawl=entry.crawl,
        url=entry.url,
        url_id=url_id(entry.url),
        host=entry.host,
        stage=STAGE,
        reason=reason,
        detail=detail,
        depth=entry.depth,
        at=datetime.now(UTC),
    )
    return Outbound(TopicName.EVENTS, entry.host.encode(), encode(record), [trace(entry).header()])


def redirect(entry: Entry, target: Url) -> Outbound:
    """The target of a redirect, for the partition of its host."""
    links = Links(
        crawl=entry.crawl,
        host=target.host,
        reason=Reason.REDIRECT,
        depth=entry.depth,
        hops=entry.hops + 1,
        parent=entry.url,
        urls=[target.href],
        kind=entry.kind,
    )
    return Outbound(TopicName.LINKS, target.host.encode(), encode(links))


def sitemap(entry: Entry) -> Outbound:
    """A sitemap that a robots.txt names, for the partition of its host."""
    links = Links(
        crawl=entry.crawl,
        host=entry.host,
        reason=Reason.SITEMAP,
        depth=entry.depth,
        parent=entry.parent,
        urls=[entry.url],
        kind=Kind.SITEMAP,
    )
    return Outbound(TopicName.LINKS, entry.host.encode(), encode(links))


def robots_version(origin: str, version: str, fetch: Fetch) -> Outbound:
    """A robots.txt as it was read, for whoever wants to know why a URL was allowed. Each version is kept."""
    return Outbound(
        TopicName.ROBOTS, f"{origin} {version}".encode(), encode(fetch.model_copy(update={"robots": version}))
    )
