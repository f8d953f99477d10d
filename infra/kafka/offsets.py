"""What may be committed of one partition whose records finish out of order. Pure: no broker, no clock."""

from collections import deque

UNKNOWN = -1
"""No offset: nothing was committed, or where reading begins is not known yet."""


class ContiguousOffsets:
    """The offsets of one partition between the committed one and the last one started.

    The committable offset is the lowest that is not done, or the one after the last started when all are. Offsets may
    have gaps (compaction, markers); they have to be started in ascending order. Memory is two integers for each offset
    from the lowest undone on; :attr:`full` tells when there are more than ``limit``, and the caller stops reading.
    """

    def __init__(self, position: int = UNKNOWN, committed: int = UNKNOWN, limit: int = 100_000) -> None:
        self._next = position
        self._committed = committed
        self._limit = limit
        self._started: deque[int] = deque()
        self._undone: set[int] = set()

    @property
    def in_flight(self) -> int:
        """Started and not done."""
        return len(self._undone)

    @property
    def full(self) -> bool:
        """Whether one slow record has let too many others finish behind it."""
        return len(self._started) >= self._limit

    @property
    def position(self) -> int:
        """The offset after the last started; :data:`UNKNOWN` before there is any."""
        return self._next

    def start(self, offset: int) -> bool:
        """Note that work on ``offset`` begins; ``False`` when it, or a later one, was started before."""
        if offset < self._next:
            return False
        self._started.append(offset)
        self._undone.add(offset)
        self._next = offset + 1
        return True

    def done(self, offset: int) -> None:
        """Note that the effect of ``offset`` is durable. Raises :class:`ValueError` when it is not in flight."""
        if offset not in self._undone:
            raise ValueError(f"offset {offset} is not in flight")
        self._undone.remove(offset)
        while self._started and self._started[0] not in self._undone:
            self._started.popleft()

    def committable(self) -> int | None:
        """What to commit now; ``None`` when the broker has it already. Never below what was committed."""
        lowest = self._started[0] if self._started else self._next
        return lowest if lowest > self._committed else None

    def committed(self, offset: int) -> None:
        """Note that the broker has taken ``offset``."""
        self._committed = max(self._committed, offset)
