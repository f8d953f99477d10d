"""Which records a store is given: a pure decision over a record."""

from collections.abc import Sequence

from infra.settings.sinks import StoreSettings
from schemas.records import Document
from sinks.keys import Content
from sinks.sink import Block


class Selection:
    """What ``settings`` lets through; without any condition, everything."""

    def __init__(self, settings: StoreSettings) -> None:
        self._crawls = frozenset(settings.crawls)
        self._languages = frozenset(settings.languages)
        self._hosts = frozenset(host for host in settings.hosts if not host.startswith("*."))
        self._domains = tuple(host[1:] for host in settings.hosts if host.startswith("*."))
        self._everything = not (settings.crawls or settings.languages or settings.hosts)

    def admits(self, record: Content) -> bool:
        """Whether the record is of one of the crawls, hosts and, for a document, languages that are named."""
        return (
            (not self._crawls or record.crawl in self._crawls)
            and (not (self._hosts or self._domains) or self._is_host(record.host))
            and (not self._languages or not isinstance(record, Document) or record.language in self._languages)
        )

    def _is_host(self, host: str) -> bool:
        # A canonical host has its port only where it is not the scheme's own; ``*.`` means the hosts below.
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        return host in self._hosts or name in self._hosts or name.endswith(self._domains)

    def of(self, blocks: Sequence[Block]) -> Sequence[Block]:
        """The blocks without the records that are not for this store."""
        if self._everything:
            return blocks
        return [
            block._replace(entries=tuple(entry for entry in block.entries if self.admits(entry.record)))
            for block in blocks
        ]
