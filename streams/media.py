"""Content-Type, parsed as the MIME Sniffing Standard says (section 4.4), not as it is hoped to be."""

import re
from collections.abc import Iterable
from typing import NamedTuple

_WHITESPACE = " \t\n\r"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_QUOTED_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_HTML = ("text/html", "application/xhtml+xml")
# How files begin that servers send as text (MIME Sniffing Standard, 6): nothing in them is a link or a sentence.
_MAGIC = (
    *(b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"\xff\xd8\xff", b"%PDF-", b"PK\x03\x04", b"\x7fELF"),
    *(b"OggS\0", b"\x1aE\xdf\xa3", b"wOFF", b"wOF2", b"\0\0\x01\0"),
)
_SNIFF_BYTES = 1_445
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


class MediaType(NamedTuple):
    """``essence`` is ``type/subtype`` in lower case; ``parameters`` keeps the first of each name."""

    essence: str
    parameters: dict[str, str]


def parse(text: str) -> MediaType | None:
    """The media type in ``text``; ``None`` when it is none."""
    kind, _, rest = text.strip(_WHITESPACE).partition(";")
    main, slash, sub = kind.partition("/")
    sub = sub.rstrip(_WHITESPACE)
    if not slash or not _TOKEN.fullmatch(main) or not _TOKEN.fullmatch(sub):
        return None
    return MediaType(f"{main}/{sub}".lower(), dict(_parameters(rest)))


def _parameters(text: str) -> Iterable[tuple[str, str]]:
    seen: set[str] = set()
    place = 0
    while place < len(text):
        while place < len(text) and text[place] in _WHITESPACE:
            place += 1
        start = place
        while place < len(text) and text[place] not in ";=":
            place += 1
        name = text[start:place].lower()
        if place < len(text) and text[place] == ";":
            place += 1
            continue
        place += 1
        if place > len(text):
            break
        value, place = _value(text, place)
        if value is not None and _TOKEN.fullmatch(name) and _QUOTED_VALUE.fullmatch(value) and name not in seen:
            seen.add(name)
            yield name, value


def _value(text: str, place: int) -> tuple[str | None, int]:
    """A parameter's value from ``place`` on, and where the next parameter begins."""
    if place < len(text) and text[place] == '"':
        value, place = _quoted(text, place + 1)
        end = text.find(";", place)
        return value, len(text) if end < 0 else end + 1
    end = text.find(";", place)
    end = len(text) if end < 0 else end
    value = text[place:end].rstrip(_WHITESPACE)
    return value or None, end + 1


def _quoted(text: str, place: int) -> tuple[str, int]:
    out: list[str] = []
    while place < len(text) and text[place] != '"':
        if text[place] == "\\" and place + 1 < len(text):
            place += 1
        out.append(text[place])
        place += 1
    return "".join(out), place + 1


def in_force(values: Iterable[str]) -> MediaType | None:
    """The media type of a response: the last valid one of its Content-Type headers (Fetch Standard, 3.2.6)."""
    found: MediaType | None = None
    for value in values:
        each = parse(value)
        if each is not None and each.essence != "*/*":
            found = each
    return found


def is_html(kind: MediaType | None, body: bytes) -> bool:
    """Whether to parse as HTML: declared so, or undeclared and it begins like a tag."""
    if kind is not None:
        return kind.essence in _HTML and not body.startswith(_MAGIC)
    return body[:_SNIFF_BYTES].lstrip()[:1] == b"<"


def is_text(kind: MediaType | None, body: bytes) -> bool:
    """Whether the body is text for people or programs, as it is."""
    if body.startswith(_MAGIC):
        return False
    if kind is None:
        return _BINARY.search(body[:_SNIFF_BYTES]) is None
    essence = kind.essence
    return essence.startswith("text/") or essence.endswith(("+xml", "/xml", "/json", "+json"))
