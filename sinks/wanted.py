"""Which stores are wanted, while that may change: a file that is looked at again and again."""

from contextlib import suppress

from infra.errors import UserError
from infra.settings import Settings
from infra.settings.stores import Stores, parse, read, stores
from sinks.stores import make_sink


class Wanted:
    """The stores of the settings and of their file.

    A change counts once the file was found the same twice, so that one that is being written, or put in the place of
    another, is not read in the middle. What is broken or gone is refused as a whole, once.
    """

    def __init__(self, settings: Settings) -> None:
        """Raises :class:`UserError` when what is wanted at the start cannot be."""
        self._settings = settings
        self._path = settings.sinks.file
        self.stores = self._checked(stores(settings.sinks))
        if not self.stores and self._path is None:
            raise UserError("no store is configured: set sinks.stores or sinks.file")
        self._judged = self._seen = self._content()

    def look(self) -> Stores | None:
        """The stores, if they are others than before; raises :class:`UserError` for a change that is refused."""
        content, before = self._content(), self._seen
        self._seen = content
        if self._path is None or content != before or content == self._judged:
            return None
        self._judged = content
        named = parse(self._path, read(self._path) if content is None else content)
        found = self._checked({**self._settings.sinks.stores, **named})
        if found == self.stores:
            return None
        self.stores = found
        return found

    def _content(self) -> bytes | None:
        """``None`` for a file that cannot be read, as for none."""
        with suppress(UserError):
            return None if self._path is None else read(self._path)
        return None

    def _checked(self, found: Stores) -> Stores:
        for name, store in found.items():
            make_sink(name, store, self._settings)
        return found
