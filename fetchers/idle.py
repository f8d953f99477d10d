"""Connections that wait for their next request, within limits of number and age."""

import time
from collections.abc import Hashable
from datetime import timedelta

from fetchers.connection import Connection


class IdleConnections:
    """The persistent tier while it rests. What the server closes leaves by itself."""

    def __init__(self, limit: int, per_host: int, keep: timedelta) -> None:
        self._limit = limit
        self._per_host = per_host
        self._keep_s = keep.total_seconds()
        self._by_host: dict[Hashable, list[Connection]] = {}
        # In the order in which they came: the first is the oldest.
        self._since: dict[Connection, tuple[Hashable, float]] = {}

    def __len__(self) -> int:
        return len(self._since)

    @property
    def is_full(self) -> bool:
        """Whether no more are kept."""
        return len(self._since) >= self._limit

    def take(self, host: Hashable) -> Connection | None:
        """The connection to ``host`` that was used last, if one is open."""
        while waiting := self._by_host.get(host):
            connection = waiting[-1]
            self._forget(connection)
            if connection.usable:
                return connection
        return None

    def put(self, host: Hashable, connection: Connection) -> bool:
        """Keep the connection; ``False`` when there is no room for it."""
        waiting = self._by_host.setdefault(host, [])
        if self.is_full or len(waiting) >= self._per_host or not self._keep_s:
            if not waiting:
                del self._by_host[host]
            return False
        waiting.append(connection)
        self._since[connection] = host, time.monotonic()
        connection.on_lost = self._forget
        return True

    def expire(self) -> None:
        """Close those that have waited too long."""
        oldest_s = time.monotonic() - self._keep_s
        old = [connection for connection, (_, since_s) in self._since.items() if since_s <= oldest_s]
        for connection in old:
            self._forget(connection)
            connection.close()

    def close(self) -> None:
        """Close them all."""
        for connection in list(self._since):
            self._forget(connection)
            connection.close()

    def _forget(self, connection: Connection) -> None:
        entry = self._since.pop(connection, None)
        connection.on_lost = None
        if entry is not None:
            waiting = self._by_host[entry[0]]
            waiting.remove(connection)
            if not waiting:
                del self._by_host[entry[0]]
