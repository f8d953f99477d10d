"""A place for bodies that no Kafka record can hold: the record names them instead.

``spool`` of the settings: a folder (on one machine the data directory's; in a cluster a volume that fetchers, renderers
and stream workers share), or a bucket of an object store, as ``s3://bucket/prefix?option=value``. Names are hashes of
what they name, so a repeat after a crash is the same object and no name comes from the web. Objects are whole or
absent. What is older than the records that can name it is deleted now and then by every process that writes.
"""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from hashlib import blake2b
from typing import Protocol, TypeVar

from obstore.exceptions import BaseError

from infra.errors import NeverValid, RetryLater
from infra.settings import Settings
from infra.spool.bucket import Bucket
from infra.spool.folder import Folder
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.fetchers import SpoolPruned

T = TypeVar("T")


class Place(Protocol):
    """Where objects lie. Raises :class:`OSError` or what the store's client raises."""

    def put(self, name: str, data: bytes) -> None:
        """Keep an object, durably; its time begins again where it is there already."""
        ...

    def get(self, name: str) -> bytes:
        """An object whole. Raises :class:`FileNotFoundError` where there is none."""
        ...

    def prune(self, keep: timedelta) -> int:
        """Delete what is older; how many."""
        ...


class Spool:
    """Bodies by reference. Blocks: call it from a thread."""

    def __init__(self, settings: Settings) -> None:
        """Raises :class:`infra.errors.UserError` when the setting names no such place."""
        wanted = settings.spool or settings.data_dir / "spool"
        self._place: Place = Bucket(wanted) if isinstance(wanted, str) and "://" in wanted else Folder(wanted)

    def put(self, body: bytes) -> str:
        """Keep ``body``, durably; the reference to it. Raises :class:`RetryLater`."""
        reference = blake2b(body, digest_size=32).hexdigest()
        _trying(lambda: self._place.put(reference, body))
        return reference

    def get(self, reference: str) -> bytes:
        """What ``reference`` names. Raises :class:`NeverValid` where there is no such thing, :class:`RetryLater`."""
        # A reference comes from a record, and records may come from anybody: it must not name anything else.
        if len(reference) != 64 or not reference.isascii() or not reference.isalnum():
            raise NeverValid("bad_reference", "a body's reference is 64 hex digits")
        found = _trying(lambda: self._get(reference))
        if found is None:
            raise NeverValid("missing_body", f"the spool has no body {reference}")
        return found

    def _get(self, reference: str) -> bytes | None:
        with suppress(FileNotFoundError):
            return self._place.get(reference)
        return None

    def prune(self, keep: timedelta) -> int:
        """Delete what is older; how many. Raises :class:`RetryLater`."""
        return _trying(lambda: self._place.prune(keep))


def _trying(work: Callable[[], T]) -> T:
    """A full disk or a store that is away is no fault of any body."""
    try:
        return work()
    except (OSError, BaseError) as error:
        raise RetryLater(f"the spool cannot be used now: {type(error).__name__}") from None


async def prune_regularly(spool: Spool, keep: timedelta, every: timedelta) -> None:
    """Prune at once and then every so often, until cancelled. A place that cannot be read now is tried again."""
    while True:
        with suppress(RetryLater):
            gone = await asyncio.to_thread(spool.prune, keep)
            if gone:
                emit(SpoolPruned(gone))
        # Not all processes that were started together at once.
        await asyncio.sleep(every.total_seconds() * random.uniform(0.5, 1.5))  # noqa: S311  # to spread, not to hide
