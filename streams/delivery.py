"""What a batch of pages gives, until the broker has it."""

from infra.kafka.producer import Headers, Outbound
from infra.kafka.topics import TopicName
from infra.telemetry.tracing import Trace
from infra.telemetry.vocabulary.streams import PageCleaned
from schemas.records import Document, Links
from schemas.versions import Change, Version
from schemas.wire import encode
from streams.outlinks import Outlinks
from streams.versions import key_of

Place = tuple[int, bytes]
"""Partition and key of a page's version."""


class Delivery:
    """Documents, changes and links go out together, versions when the broker has them.

    A version that is there before its change would hide the change from whoever does the batch again after a crash.
    """

    def __init__(self) -> None:
        self.records: list[Outbound] = []
        self.told: set[int] = set()
        self.cleaned: list[tuple[PageCleaned, Trace]] = []
        self.versions: dict[Place, Version] = {}
        self.size_bytes = 0

    def add(self, document: Document, links: Outlinks, trace: Trace, change: Change | None) -> None:
        """What one page gives."""
        value = encode(document)
        self.size_bytes += len(value)
        header = trace.child().header()
        self.records.append(Outbound(TopicName.DOCUMENTS, document.url_id, value, [header]))
        if change is not None:
            self.records.append(Outbound(TopicName.CHANGES, change.url_id, encode(change), [header]))
        # A link's trace is that of its own visit, which the frontier begins.
        self.records += [links_record(each, []) for each in links.records]
        self.told.update(links.keys)
        event = PageCleaned(
            document.url,
            len(document.text),
            len(document.links),
            told=len(links.keys),
            told_before=links.told_before,
            out_of_scope=links.out_of_scope,
            over_limit=links.over_limit,
            flags=tuple(document.flags),
            copy="exact" if document.duplicate_of else "near" if document.near_duplicate_of else None,
            changed=tuple(change.fields) if change is not None else (),
        )
        self.cleaned.append((event, trace))

    def version_records(self) -> list[tuple[int, Outbound]]:
        """The versions by partition, each page's last."""
        return [
            (partition, Outbound(TopicName.VERSIONS, key, encode(version), partition=partition))
            for (partition, key), version in self.versions.items()
        ]

    def remember(self, partition: int, version: Version) -> None:
        """A version that is new."""
        self.versions[partition, key_of(version.crawl, version.url_id)] = version


def links_record(links: Links, headers: Headers) -> Outbound:
    """Links of one host, as the frontier reads them."""
    return Outbound(TopicName.LINKS, links.host.encode(), encode(links), headers)
