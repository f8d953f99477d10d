"""What happens to seeds and pages in the streams."""

from dataclasses import dataclass
from typing import ClassVar

from prometheus_client import Counter, Gauge, Histogram

from infra.telemetry.event import Event, Level

_SEEDS = Counter("odradek_seeds_total", "Seeds accepted.")
_PAGES = Counter("odradek_pages_cleaned_total", "Pages turned into documents.")
_LINKS = Counter("odradek_outlinks_total", "Links of pages, by what became of them.", ["fate"])
_FLAGS = Counter("odradek_document_flags_total", "What the cleaner could not do as it should.", ["flag"])
_COPIES = Counter("odradek_document_copies_total", "Documents whose text this worker had seen.", ["kind"])
_CHANGES = Counter("odradek_page_changes_total", "Pages that differ from their former version.")
_RULES = Gauge("odradek_rules", "Per-site rules in force.")
_REFUSED = Counter("odradek_rules_refused_total", "Changed rules that were wrong; the old ones stay in force.")
_TEXT = Histogram(
    "odradek_document_text_characters", "Length of the main text.", buckets=(0, 100, 1_000, 5_000, 20_000, 100_000)
)


@dataclass(frozen=True, slots=True)
class SeedAccepted(Event):
    """A seed is a crawlable URL and was handed on."""

    level: ClassVar[Level | None] = "debug"
    name: ClassVar[str] = "seed accepted"
    crawl: str
    url: str

    def measure(self) -> None:
        _SEEDS.inc()


@dataclass(frozen=True, slots=True)
class PageCleaned(Event):
    """A page became a document, and its links were handed on; the broker has all of it."""

    level: ClassVar[Level | None] = "debug"
    name: ClassVar[str] = "page cleaned"
    url: str
    characters: int
    links: int
    told: int
    told_before: int
    out_of_scope: int
    over_limit: int
    flags: tuple[str, ...]
    copy: str | None = None
    """``exact`` or ``near``, of an earlier page of the crawl."""
    changed: tuple[str, ...] = ()
    """The fields that differ from the former version."""

    def measure(self) -> None:
        _PAGES.inc()
        if self.copy is not None:
            _COPIES.labels(self.copy).inc()
        if self.changed:
            _CHANGES.inc()
        _TEXT.observe(self.characters)
        _LINKS.labels("told").inc(self.told)
        _LINKS.labels("told_before").inc(self.told_before)
        _LINKS.labels("out_of_scope").inc(self.out_of_scope)
        _LINKS.labels("over_limit").inc(self.over_limit)
        for flag in self.flags:
            _FLAGS.labels(flag).inc()


@dataclass(frozen=True, slots=True)
class RulesInForce(Event):
    """Per-site rules were read, at the start or because they changed."""

    name: ClassVar[str] = "rules in force"
    path: str
    version: str
    rules: int

    def measure(self) -> None:
        _RULES.set(self.rules)


@dataclass(frozen=True, slots=True)
class RulesRefused(Event):
    """Changed rules are wrong; those of ``version`` stay in force."""

    level: ClassVar[Level | None] = "error"
    name: ClassVar[str] = "rules refused"
    path: str
    version: str
    error: str

    def measure(self) -> None:
        _REFUSED.inc()
