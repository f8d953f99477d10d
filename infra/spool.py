"""A place for bodies that no Kafka record can hold: the record names them instead.

A folder, ``spool`` of the settings: on one machine the data directory's; in a cluster a volume that fetchers and stream
workers share. Names are hashes of what they name, so a repeat after a crash is the same file and no name comes from the
web. Files are whole or absent: written beside, then renamed.
"""

import os
import secrets
import time
from contextlib import suppress
from datetime import timedelta
from hashlib import blake2b
from pathlib import Path

from infra.errors import NeverValid
from infra.settings import Settings


class Spool:
    """Bodies by reference. Blocks: call it from a thread."""

    def __init__(self, settings: Settings) -> None:
        self._directory = settings.spool or settings.data_dir / "spool"

    def put(self, body: bytes) -> str:
        """Keep ``body``, durably; the reference to it. Raises :class:`OSError`."""
        reference = blake2b(body, digest_size=32).hexdigest()
        path = self._path(reference)
        if path.exists():
            # Named anew: its time begins again.
            path.touch()
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
        """Delete what is older; how many."""
        oldest_s = time.time() - keep.total_seconds()
        gone = 0
        for path in self._directory.glob("??/*"):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < oldest_s:
                    path.unlink()
                    gone += 1
        return gone

    def _path(self, reference: str) -> Path:
        return self._directory / reference[:2] / reference
