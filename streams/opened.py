"""A page as it is before anything reads it, and how it is to be read."""

from typing import NamedTuple

from schemas.codings import declared, undo
from schemas.records import Page
from streams import hostility
from streams.media import MediaType, in_force, is_html
from streams.sites import Sites

MAX_BODY_BYTES = 10 * 2**20
"""Decoded."""
PDF_MAGIC = b"%PDF-"


def headers(head: bytes) -> dict[str, list[str]]:
    """The header fields of a response head by lower-case name; bytes beyond ASCII are read as latin-1."""
    found: dict[str, list[str]] = {}
    for line in head.decode("latin-1").split("\r\n")[1:]:
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip().lower(), []).append(value.strip())
    return found


class Opened(NamedTuple):
    """A page whose content codings are undone."""

    page: Page
    fields: dict[str, list[str]]
    kind: MediaType | None
    body: bytes
    flags: tuple[str, ...]

    @property
    def charset(self) -> str | None:
        """As the server named it."""
        return self.kind.parameters.get("charset") if self.kind else None

    @property
    def html(self) -> bool:
        """Whether it is read as HTML."""
        return is_html(self.kind, self.body)

    @property
    def pdf(self) -> bool:
        """Whether it is a PDF, whatever it is declared as."""
        return self.body.startswith(PDF_MAGIC)

    @property
    def costly(self) -> bool:
        """Whether cleaning it may take seconds, however well it is done."""
        return self.pdf or (self.html and hostility.costly(self.body))


class Way(NamedTuple):
    """How to clean."""

    robots_token: str
    obey: bool
    """Whether nofollow directives of the whole page count."""
    parse: bool = True
    """``False`` reads HTML by patterns alone, in linear time and little memory, and no PDF."""
    markdown: bool = True
    """Whether the main text is wanted as Markdown too."""
    sites: Sites = Sites()

    def apart(self, opened: Opened) -> bool:
        """Whether the page belongs into a process that can be killed: it is costly, or others' rules read it."""
        return opened.costly or (opened.html and self.sites.about(opened.page.host))


def open_page(page: Page) -> Opened:
    """The first step, whose cost is bounded for any page."""
    fields = headers(page.head)
    decoded = undo(page.body, declared(fields.get("content-encoding", ())), MAX_BODY_BYTES)
    return Opened(page, fields, in_force(fields.get("content-type", ())), decoded.body, tuple(decoded.flags))
