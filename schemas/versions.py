"""Versions of a page, and what differs between two of them. The contracts describe every field."""

from datetime import datetime

from schemas.records import Record


class Version(Record):
    """What a page said when it was seen to be new or changed."""

    crawl: str
    url: str
    url_id: bytes
    visit: int
    fetch_id: str
    fetched_at: datetime
    status: int
    cleaner: str
    content_hash: bytes
    text: str
    fields: dict[str, str]


class Change(Record):
    """What differs between two versions of a page."""

    crawl: str
    url: str
    url_id: bytes
    host: str
    visit: int
    fetch_id: str
    fetched_at: datetime
    former_visit: int
    former_fetch_id: str
    former_fetched_at: datetime
    fields: list[str]
    before: dict[str, str]
    after: dict[str, str]
    similarity: float
    lines_added: int
    lines_removed: int
    added: list[str]
    removed: list[str]
