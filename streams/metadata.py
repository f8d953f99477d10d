"""What a page tells about itself beside its text: each field from the best source that has it, or none at all.

The order is JSON-LD, OpenGraph and its relatives, then plain ``meta`` elements and markup. Nothing is guessed: a field
without a source is missing, and ``sources`` names the source of each that is there.
"""

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import NamedTuple

from resiliparse.parse.lang import detect_fast

from schemas.url import InvalidUrl, canonicalize
from streams import dates, structured
from streams.markup import Markup

_MOST_CHARS = 2_000
_MOST_IMAGES = 50
_LANGUAGE = re.compile(r"\s*([a-zA-Z]{2,3})(?:[-_]|\s*$)")
_BY = re.compile(r"^by:?\s+", re.IGNORECASE)
_DETECT_CHARS = 2_000
_DETECT_FROM_CHARS = 200
# The detector's own measure of strangeness: a right answer for prose has 200 to 500.
_STRANGE = 600

_AUTHOR = ("article:author", "author", "parsely-author", "dc.creator", "sailthru.author", "byl")
_PUBLISHED = (
    *("article:published_time", "og:published_time", "datepublished", "date", "pubdate", "parsely-pub-date"),
    *("sailthru.date", "dc.date", "dc.date.issued", "dcterms.created", "publish-date", "article.published"),
)
_MODIFIED = ("article:modified_time", "og:updated_time", "datemodified", "last-modified", "dcterms.modified")
_SITE_NAME = ("og:site_name", "application-name")
_DESCRIPTION = ("og:description", "description", "twitter:description", "dc.description")
_IMAGES = ("og:image", "og:image:url", "twitter:image", "twitter:image:src")


class Metadata(NamedTuple):
    """``None`` and empty where no source has it."""

    language: str | None
    author: str | None
    published: str | None
    modified: str | None
    site_name: str | None
    description: str | None
    canonical: str | None
    images: list[str]
    json_ld: list[str]
    sources: dict[str, str]


NOTHING = Metadata(None, None, None, None, None, None, None, [], [], {})


def read(page: Markup, text: str, fetched_at: datetime) -> Metadata:
    """The metadata of a page with this main ``text``. No date is after ``fetched_at``."""
    data = structured.read(page.data)
    found = _Found(page, data.page)

    def moment(value: str) -> str | None:
        return dates.read(value, fetched_at)

    published = found.first("published", ("datePublished", "uploadDate", "dateCreated"), _PUBLISHED, moment)
    return Metadata(
        language=_language(page, text, found.sources),
        author=found.first("author", ("author",), _AUTHOR, _name),
        published=published or found.keep("published", "time", _first(map(moment, page.times))),
        modified=found.first("modified", ("dateModified",), _MODIFIED, moment),
        site_name=found.first("site_name", ("publisher",), _SITE_NAME, _line),
        description=found.first("description", ("description",), _DESCRIPTION, _line),
        canonical=found.keep("canonical", "link", _address(page, page.rels.get("canonical", ""))),
        images=_images(page, data.page, found.sources),
        json_ld=data.blocks,
        sources=found.sources,
    )


class _Found:
    """Looks in one source after the other, and remembers which had it."""

    def __init__(self, page: Markup, node: structured.Node) -> None:
        self._metas = page.metas
        self._node = node
        self.sources: dict[str, str] = {}

    def first(
        self, field: str, keys: Iterable[str], metas: Iterable[str], read: Callable[[str], str | None]
    ) -> str | None:
        """The first value that ``read`` makes something of."""
        if self._node:
            for key in keys:
                values = filter(None, map(read, structured.told(self._node.get(key), "name")))
                if found := ", ".join(dict.fromkeys(values)) if field == "author" else _first(values):
                    return self.keep(field, "json-ld", found)
        for name in metas if self._metas else ():
            if (value := self._metas.get(name)) and (found := read(value)):
                return self.keep(field, f"meta {name}", found)
        return None

    def keep(self, field: str, source: str, value: str | None) -> str | None:
        """``value``, its source remembered."""
        if value:
            self.sources[field] = source
        return value or None


def _first(values: Iterable[str | None]) -> str | None:
    return next((value for value in values if value), None)


def _line(text: str) -> str | None:
    return structured.clean(" ".join(text.split()))[:_MOST_CHARS] or None


def _name(text: str) -> str | None:
    """A name; networks are asked for the address of a profile in the same place."""
    line = _BY.sub("", _line(text) or "")
    return None if not line or "://" in line or line.startswith("@") else line


def language_of(text: str) -> str | None:
    """The language that the text itself is in; ``None`` for too little of it, or what is no prose."""
    if len(text) < _DETECT_FROM_CHARS:
        return None
    language, strangeness = detect_fast(text[:_DETECT_CHARS])
    return str(language) if language != "unknown" and strangeness < _STRANGE else None


def _language(page: Markup, text: str, sources: dict[str, str]) -> str | None:
    """The text itself says it best: many a template claims English for every page."""
    if (language := language_of(text)) is not None:
        sources["language"] = "text"
        return language
    for source, value in (
        ("html lang", page.language),
        ("meta content-language", page.metas.get("content-language")),
        ("meta og:locale", page.metas.get("og:locale")),
    ):
        if value and (match := _LANGUAGE.match(value)):
            sources["language"] = source
            return match[1].lower()
    return None


def _images(page: Markup, node: structured.Node, sources: dict[str, str]) -> list[str]:
    named = [page.metas[name] for name in _IMAGES if name in page.metas] if page.metas else []
    named += structured.told(node.get("image"), "url") if node else []
    found = dict.fromkeys(filter(None, (_address(page, each) for each in [*named, *page.images][:_MOST_IMAGES])))
    if found:
        sources["images"] = "meta" if named else "img"
    return list(found)


def _address(page: Markup, reference: str) -> str | None:
    if not reference.strip() or len(reference) > _MOST_CHARS or reference.startswith("data:"):
        return None
    try:
        return canonicalize(reference, page.base).href
    except InvalidUrl:
        return None
