"""A folder of files: whole or absent, written beside, then renamed; pruned safely while others write and read."""

import os
import secrets
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path


class Folder:
    """See :class:`infra.spool.Place`."""

    def __init__(self, root: Path | str) -> None:
        self._root = Path(root)

    def put(self, name: str, data: bytes) -> None:
        """See :class:`infra.spool.Place`."""
        path = self._path(name)
        with suppress(FileNotFoundError):
            # Where it is being deleted at this moment, it is written again.
            os.utime(path)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{name}.{secrets.token_hex(4)}")
        try:
            with beside.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)

    def get(self, name: str) -> bytes:
        """See :class:`infra.spool.Place`."""
        return self._path(name).read_bytes()

    def prune(self, keep: timedelta) -> int:
        """See :class:`infra.spool.Place`. What a crash has left half-written goes too."""
        oldest_s = time.time() - keep.total_seconds()
        gone = 0
        for path in self._root.glob("??/*"):
            with suppress(FileNotFoundError):
                gone += path.stat().st_mtime < oldest_s and _delete(path, oldest_s)
        return gone

    def _path(self, name: str) -> Path:
        return self._root / name[:2] / name


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
