"""A place for bodies that no Kafka record can hold: the record names them instead.

A folder, ``spool`` of the settings: on one machine the data directory's; in a cluster a volume that fetchers and stream
workers share. Names are hashes of what they name, so a repeat after a crash is the same file and no name comes from the
web. Files are whole or absent: written beside, then renamed. What is older than the records that can name it is deleted
now and then by every process that writes, which is safe to do while others write and read.
"""

import asyncio
import os
import random
import secrets
import time
from contextlib import suppress
from datetime import timedelta
from hashlib import blake2b
from pathlib import Path

from infra.errors import NeverValid
from infra.settings import Settings
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.fetchers import SpoolPruned


class Spool:
    """Bodies by reference. Blocks: call it from a thread."""

    def __init__(self, settings: Settings) -> None:
        self._directory = settings.spool or settings.data_dir / "spool"

    def put(self, body: bytes) -> str:
        """Keep ``body``, durably; the reference to it. Raises :class:`OSError`."""
        reference = blake2b(body, digest_size=32).hexdigest()
        path = self._path(reference)
        with suppress(FileNotFoundError):
            # Named anew: its time begins again. Where it is being deleted at this moment, it is written again.
            os.utime(path)
            return reference
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{reference}.{secrets.token_hex(4)}")
        try:
            with beside.open("xb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
        return reference

    def get(self, reference: str) -> bytes:
        """What ``reference`` names. Raises :class:`NeverValid` where there is no such thing."""
        # A reference comes from a record, and records may come from anybody: it must not name another file.
        if len(reference) != 64 or not reference.isascii() or not reference.isalnum():
            raise NeverValid("bad_reference", "a body's reference is 64 hex digits")
        try:
            return self._path(reference).read_bytes()
        except FileNotFoundError:
            raise NeverValid("missing_body", f"the spool has no body {reference}") from None

    def prune(self, keep: timedelta) -> int:
        """Delete what is older; how many. What a crash has left half-written goes too."""
        oldest_s = time.time() - keep.total_seconds()
        gone = 0
        for path in self._directory.glob("??/*"):
            with suppress(FileNotFoundError):
                gone += path.stat().st_mtime < oldest_s and _delete(path, oldest_s)
        return gone

    def _path(self, reference: str) -> Path:
        return self._directory / reference[:2] / reference


def _delete(path: Path, oldest_s: float) -> bool:
    """Delete a file that is still old when nobody can find it any more; otherwise it gets its name back."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    path.rename(aside)
    is_old = aside.stat().st_mtime < oldest_s
    if not is_old:
        with suppress(FileExistsError):
            # Not by renaming: whoever has put the same body meanwhile has made a file of that name.
            path.hardlink_to(aside)
    aside.unlink()
    return is_old


async def prune_regularly(spool: Spool, keep: timedelta, every: timedelta) -> None:
    """Prune at once and then every so often, until cancelled. A folder that cannot be read now is tried again."""
    while True:
        with suppress(OSError):
            gone = await asyncio.to_thread(spool.prune, keep)
            if gone:
                emit(SpoolPruned(gone))
        # Not all processes that were started together at once.
        await asyncio.sleep(every.total_seconds() * random.uniform(0.5, 1.5))  # noqa: S311  # to spread, not to hide
