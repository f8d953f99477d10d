"""Where objects lie: a folder of this machine, or a bucket of S3, Google or Azure. Blocks."""

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError
from obstore.store import ObjectStore

from infra.buckets import open_bucket
from infra.errors import UserError
from infra.settings import Settings
from sinks.dsn import shown

OURS = frozenset({"format"})
"""Options of a DSN that are not the store's."""


class Place(Protocol):
    """A flat set of objects by name. Raises :class:`OSError` or what the store's client raises."""

    def names(self, folder: str) -> list[str]:
        """The names of the objects in a folder, sorted."""
        ...

    def walk(self, folder: str) -> list[str]:
        """The names of the objects in a folder and in those below it, sorted."""
        ...

    def get(self, name: str) -> bytes:
        """An object whole."""
        ...

    def create(self, name: str, data: bytes) -> bool:
        """Make an object, whole and durable; ``False`` when there is one of that name, which stays as it is."""
        ...

    def replace(self, name: str, data: bytes) -> None:
        """Make an object, or make it anew."""
        ...


class Folder:
    """Files are written beside, synced and then linked: they are whole or absent, also after a power cut."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def names(self, folder: str) -> list[str]:
        """See :class:`Place`."""
        with suppress(FileNotFoundError):
            found = [each.name for each in (self._root / folder).iterdir()]
            return sorted(f"{folder}/{each}" for each in found if not each.startswith("."))
        return []

    def walk(self, folder: str) -> list[str]:
        """See :class:`Place`."""
        found = (path for path in (self._root / folder).rglob("*") if path.is_file())
        return sorted(str(path.relative_to(self._root)) for path in found if not path.name.startswith("."))

    def get(self, name: str) -> bytes:
        """See :class:`Place`."""
        return (self._root / name).read_bytes()

    def create(self, name: str, data: bytes) -> bool:
        """See :class:`Place`."""
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = self._beside(path, data)
        try:
            path.hardlink_to(beside)
        except FileExistsError:
            return False
        finally:
            beside.unlink()
        self._settle(path.parent)
        return True

    def replace(self, name: str, data: bytes) -> None:
        """See :class:`Place`."""
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self._beside(path, data).replace(path)
        self._settle(path.parent)

    def _beside(self, path: Path, data: bytes) -> Path:
        beside = path.with_name(f".{secrets.token_hex(8)}")
        try:
            with beside.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        return beside

    def _settle(self, folder: Path) -> None:
        """The names up to the root survive a power cut too."""
        for each in (folder, *folder.parents):
            descriptor = os.open(each, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if each == self._root:
                break


class Bucket:
    """A store of obstore's. A conditional put decides which of two writers made an object."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def names(self, folder: str) -> list[str]:
        """See :class:`Place`."""
        found = obstore.list_with_delimiter(self._store, prefix=folder)
        return sorted(each["path"] for each in found["objects"])

    def walk(self, folder: str) -> list[str]:
        """See :class:`Place`."""
        return sorted(each["path"] for page in obstore.list(self._store, prefix=folder or None) for each in page)

    def get(self, name: str) -> bytes:
        """See :class:`Place`."""
        return bytes(obstore.get(self._store, name).bytes())

    def create(self, name: str, data: bytes) -> bool:
        """See :class:`Place`."""
        try:
            # In one request: the parts of a multipart upload would be visible to nobody, but cannot be conditional.
            obstore.put(self._store, name, data, mode="create", use_multipart=False)
        except AlreadyExistsError:
            return False
        return True

    def replace(self, name: str, data: bytes) -> None:
        """See :class:`Place`."""
        obstore.put(self._store, name, data, use_multipart=False)


def place_of(settings: Settings, dsn: str) -> Place:
    """What the DSN means. Raises :class:`UserError` for an option that its store does not have."""
    parts = urlsplit(dsn)
    if parts.scheme in ("file", "objects"):
        if parts.netloc:
            raise UserError(f"{shown(dsn)}: a folder is written with three slashes, as in file:///srv/crawl")
        path = unquote(parts.path)
        return Folder(Path(path) if path else settings.data_dir / "objects")
    try:
        return Bucket(open_bucket(dsn, OURS))
    except ValueError as error:
        raise UserError(f"{shown(dsn)} {error}") from None
