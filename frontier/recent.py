"""A cache that is bounded by the size of what it holds."""

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """What was used last, as far as the sum of the sizes allows."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._size_bytes = 0
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K) -> V | None:
        """What is kept under the key."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def put(self, key: K, value: V, size_bytes: int) -> None:
        """Keep it, and forget what was not used for the longest time. What is larger than the limit is not kept."""
        before = self._kept.pop(key, None)
        self._size_bytes += size_bytes - (before[1] if before else 0)
        self._kept[key] = (value, size_bytes)
        while self._size_bytes > self._limit_bytes:
            _, (_, dropped_bytes) = self._kept.popitem(last=False)
            self._size_bytes -= dropped_bytes
