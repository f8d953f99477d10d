"""Pays the outbox of one partition, in order: a bundle's changes first, the rest once the broker has them."""

from collections import deque
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from frontier.outbox import Bundle
from infra.errors import Fatal
from infra.kafka.producer import Delivered, Outbound, Placed, Producer
from infra.kafka.topics import TopicName

_SERVE = timedelta(milliseconds=50)


@dataclass(slots=True)
class _Owed:
    number: int
    bundle: Bundle
    offsets: dict[TopicName, int]
    changes_left: int = 0
    rest_left: int = 0
    rest_sent: bool = False

    @property
    def paid(self) -> bool:
        return self.rest_sent and not self.rest_left


class Publisher:
    """Bundles of one partition on their way."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer
        self._owed: deque[_Owed] = deque()
        self._abandoned = False
        self.newest = 0
        """The number of the newest bundle."""
        self.changelog_end = -1
        """The offset after our newest acknowledged change; -1 before the first."""

    def __len__(self) -> int:
        """Bundles that are not wholly published."""
        return len(self._owed)

    def publish(self, number: int, bundle: Bundle, offsets: dict[TopicName, int]) -> None:
        """Send a bundle; ``offsets`` may be committed once it is paid."""
        owed = _Owed(number, bundle, offsets, changes_left=len(bundle.changes))
        self._owed.append(owed)
        self.newest = number
        for record in bundle.changes:
            self._send(record, partial(self._change_done, owed), self._changed)
        if not bundle.changes:
            self._send_rest(owed)

    def owes(self, number: int) -> bool:
        """Whether anything up to this bundle is not wholly published."""
        return bool(self._owed) and self._owed[0].number <= number

    def abandon(self) -> None:
        """The partition is somebody else's: what the world has not been told yet, it is not told by us any more."""
        self._abandoned = True

    def settled(self) -> tuple[int, dict[TopicName, int]] | None:
        """The newest bundle up to which all are paid, and the offsets that may be committed; takes them off."""
        number, offsets = 0, dict[TopicName, int]()
        while self._owed and self._owed[0].paid:
            owed = self._owed.popleft()
            number = owed.number
            offsets |= owed.offsets
        return (number, offsets) if number else None

    def _send(self, record: Outbound, then: Delivered, placed: Placed | None = None) -> None:
        while True:
            try:
                self._producer.send(record, then, placed)
                return
            except BufferError:
                self._producer.poll(_SERVE)

    def _changed(self, offset: int) -> None:
        self.changelog_end = max(self.changelog_end, offset + 1)

    def _change_done(self, owed: _Owed, error: object) -> None:
        _check(error)
        owed.changes_left -= 1
        if not owed.changes_left:
            self._send_rest(owed)

    def _send_rest(self, owed: _Owed) -> None:
        if self._abandoned:
            return
        owed.rest_left = len(owed.bundle.rest)
        owed.rest_sent = True
        for record in owed.bundle.rest:
            self._send(record, partial(self._rest_done, owed))

    def _rest_done(self, owed: _Owed, error: object) -> None:
        _check(error)
        owed.rest_left -= 1


def _check(error: object) -> None:
    """Deliveries never time out, so an error is final: going on would leave a hole in the changelog."""
    if error is not None:
        raise Fatal(f"Kafka refuses what the frontier owes: {error}")
