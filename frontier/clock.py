"""The frontier's time: wall-clock seconds that never jump while the process lives."""

import time


class Clock:
    """Anchored to the wall clock once, then moved by the monotonic one: a changed clock changes no delay."""

    def __init__(self) -> None:
        self._offset_s = time.time() - time.monotonic()

    def now_s(self) -> float:
        """Seconds since the epoch, as this process counts them."""
        return self._offset_s + time.monotonic()
