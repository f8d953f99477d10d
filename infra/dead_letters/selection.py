"""Which dead letters somebody means. Pure."""

from dataclasses import dataclass
from datetime import datetime

from infra.dead_letters.ledger import Entry, Ledger
from infra.errors import UserError

FEWEST_DIGITS = 4


@dataclass(frozen=True)
class Selection:
    """Every part that is given has to hold."""

    ids: tuple[str, ...] = ()
    """Whole, or the first digits of them."""
    stage: str | None = None
    reason: str | None = None
    topic: str | None = None
    host: str | None = None
    """Canonical."""
    since: datetime | None = None
    until: datetime | None = None
    """Exclusive."""

    @property
    def narrows(self) -> bool:
        """Whether it leaves anything out."""
        return self != Selection()

    def of(self, ledger: Ledger) -> list[Entry]:
        """The letters, oldest first. Raises :class:`UserError` when an id means none or several."""
        named = {_one(ledger, each).letter_id for each in self.ids}
        return [entry for entry in ledger if (not self.ids or entry.letter_id in named) and self._takes(entry)]

    def _takes(self, entry: Entry) -> bool:
        return (
            self.stage in (None, entry.stage)
            and self.reason in (None, entry.reason)
            and self.topic in (None, entry.topic)
            and self.host in (None, entry.host)
            and (self.since is None or entry.at >= self.since)
            and (self.until is None or entry.at < self.until)
        )


def _one(ledger: Ledger, digits: str) -> Entry:
    found = ledger.beginning_with(digits) if len(digits) >= FEWEST_DIGITS else []
    if not found:
        least = f"; give at least {FEWEST_DIGITS} digits" if len(digits) < FEWEST_DIGITS else ""
        raise UserError(f"there is no dead letter {digits!r}{least}: `odradek dead-letters list --all` names them")
    if len(found) > 1:
        raise UserError(f"{len(found)} dead letters begin with {digits!r}: give more digits")
    return found[0]
