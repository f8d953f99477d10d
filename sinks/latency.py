"""How long it took from the fetch to the row, in quantiles, in constant memory."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

_BASE = 1.05
_LEAST_MS = 1.0


class Latency:
    """A histogram of buckets that each are 5 % wider than the one before: quantiles are right to 5 %."""

    def __init__(self) -> None:
        self._buckets: Counter[int] = Counter()

    def observe(self, began: Iterable[datetime], now: datetime) -> None:
        """Rows of pages that were asked for at ``began`` can be read since ``now``."""
        self._buckets.update(math.ceil(math.log(_at_least(now - each), _BASE)) for each in began)

    def quantile(self, share: float) -> timedelta | None:
        """What ``share`` of the rows (0 to 1) did not exceed; ``None`` before the first row."""
        total = self._buckets.total()
        if total == 0:
            return None
        seen = 0
        for bucket in sorted(self._buckets):
            seen += self._buckets[bucket]
            if seen >= share * total:
                return timedelta(milliseconds=_BASE**bucket)
        raise AssertionError("the shares of all buckets are one")

    def counts(self) -> Mapping[str, int]:
        """``fetch_to_row_p50_ms``, ``_p95_ms`` and ``_p99_ms``; nothing before the first row."""
        found = {percent: self.quantile(percent / 100) for percent in (50, 95, 99)}
        return {
            f"fetch_to_row_p{percent}_ms": round(duration.total_seconds() * 1000)
            for percent, duration in found.items()
            if duration is not None
        }


def _at_least(duration: timedelta) -> float:
    """Milliseconds; clocks of two machines may disagree, and a logarithm wants more than nothing."""
    return max(_LEAST_MS, duration.total_seconds() * 1000)
