"""A bucket of an object store: fetchers and stream workers need no volume in common."""

from datetime import UTC, datetime, timedelta

import obstore

from infra.buckets import open_bucket
from infra.errors import UserError

# The stores' own words (Amazon S3 API, Azure Storage, Google Cloud Storage), which obstore hands on as text.
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "bucket does not exist")


class Bucket:
    """See :class:`infra.spool.Place`."""

    def __init__(self, dsn: str) -> None:
        """Raises :class:`UserError`, which shows nothing of the DSN."""
        try:
            self._store = open_bucket(dsn)
        except ValueError as error:
            raise UserError(f"the setting spool {error}") from None

    def put(self, name: str, data: bytes) -> None:
        """See :class:`infra.spool.Place`. Written again where it is there: its time begins again."""
        obstore.put(self._store, _key(name), data)

    def get(self, name: str) -> bytes:
        """See :class:`infra.spool.Place`."""
        try:
            return bytes(obstore.get(self._store, _key(name)).bytes())
        except FileNotFoundError as error:
            if any(code in str(error) for code in _NO_BUCKET):
                # Nothing is known of the object.
                raise OSError("there is no such bucket") from None
            raise

    def prune(self, keep: timedelta) -> int:
        """See :class:`infra.spool.Place`."""
        oldest = datetime.now(UTC) - min(keep, timedelta(days=36_500))
        old = [
            each["path"]
            for page in obstore.list(self._store)
            for each in page
            if each["last_modified"] < oldest and _is_ours(each["path"])
        ]
        # Looked at once more just before: it may have been put again since the list was made.
        still = [path for path in old if obstore.head(self._store, path)["last_modified"] < oldest]
        if still:
            obstore.delete(self._store, still)
        return len(still)


def _key(name: str) -> str:
    return f"{name[:2]}/{name}"


def _is_ours(path: str) -> bool:
    """A prefix may be shared with what others keep: only what looks like a body is deleted."""
    folder, _, name = path.rpartition("/")
    return len(name) == 64 and folder.endswith(name[:2])
