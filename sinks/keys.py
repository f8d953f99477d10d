"""What makes two records the same row, for every store."""

from collections.abc import Iterable
from hashlib import blake2b

from schemas.records import Decision, Document, Fetch, Page

Content = Document | Fetch | Decision | Page
"""What a sink stores."""


def row_key(record: Content) -> tuple[str, ...]:
    """The parts of the key: records with the same key are one row."""
    match record:
        case Document():
            return record.crawl, record.url, str(record.visit)
        case Fetch() | Page():
            return (record.fetch_id,)
        case Decision():
            return (decision_id(record),)


def decision_id(decision: Decision) -> str:
    """32 hex digits (BLAKE2b-128) of what was decided about which URL, but not of when.

    A stage that is killed decides again after its restart: the time differs, the decision is the same.
    """
    parts = (
        decision.crawl,
        decision.url,
        decision.stage,
        decision.reason,
        decision.detail or "",
        str(decision.depth),
    )
    # Each part with its length, so that no two different decisions read the same when joined.
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def fingerprint(records: Iterable[Content]) -> str:
    """16 hex digits that differ when any of the records does: a visit fetched or cleaned again is another record."""
    digest = blake2b(digest_size=8)
    for record in records:
        match record:
            case Document():
                digest.update(f"{record.fetch_id}{record.cleaned_at.timestamp()}".encode("utf-8", "surrogatepass"))
            case Fetch() | Page():
                digest.update(record.fetch_id.encode("utf-8", "surrogatepass"))
            case Decision():
                digest.update(f"{decision_id(record)}{record.at.timestamp()}".encode())
    return digest.hexdigest()
