"""A limit for everything that the server may never answer, whichever way the silence comes about."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from threading import Timer

from psycopg import Connection


@contextmanager
def within(connection: "Connection[object]", limit: timedelta) -> Iterator[None]:
    """Cut the connection when the block takes longer: what waits for the server's answer then gets an error.

    The server's own ``statement_timeout`` does not help where the server hangs or the network swallows.
    """
    timer = Timer(limit.total_seconds(), _cut, [connection])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _cut(connection: "Connection[object]") -> None:
    # A copy, so that the number cannot come to mean another file between here and there.
    with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as wire:
        wire.shutdown(socket.SHUT_RDWR)
