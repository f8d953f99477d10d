"""What becomes of a body, by its declared media type or, where none is declared, its first bytes. Pure."""

import re
from collections.abc import Sequence
from fnmatch import translate
from typing import Literal, NamedTuple

from infra.settings.fetchers import MediaRule

RENDERED_TYPES = frozenset({"text/html", "application/xhtml+xml"})
"""What a browser makes a page of."""

_ESSENCE = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# The binary data bytes of the MIME Sniffing Standard, section 3.
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_SNIFFED_BYTES = 1_445
_UNKNOWN = frozenset({"unknown/unknown", "application/unknown"})
_TEXT_MARKS = (b"\xfe\xff", b"\xff\xfe")
_HTML = re.compile(
    rb"[\t\n\x0c\r ]*<(?:!--|(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)"
    rb"[\t\n\x0c\r />])",
    re.IGNORECASE,
)
_XML = re.compile(rb"[\t\n\x0c\r ]*<\?xml")
# Magic numbers of the MIME Sniffing Standard, section 6, and of some that are found on the web beside them.
_MAGIC: tuple[tuple[re.Pattern[bytes], str], ...] = tuple(
    (re.compile(pattern, re.DOTALL), kind)
    for pattern, kind in (
        (rb"%PDF-", "application/pdf"),
        (rb"%!PS-Adobe-", "application/postscript"),
        (rb"\x89PNG\r\n\x1a\n", "image/png"),
        (rb"GIF8[79]a", "image/gif"),
        (rb"\xff\xd8\xff", "image/jpeg"),
        (rb"RIFF.{4}WEBPVP", "image/webp"),
        (rb"BM.{4}\x00{4}", "image/bmp"),
        (rb"\x00\x00[\x01\x02]\x00", "image/x-icon"),
        (rb".{4}ftyp(?:avif|avis)", "image/avif"),
        (rb".{4}ftyp", "video/mp4"),
        (rb"\x1aE\xdf\xa3", "video/webm"),
        (rb"RIFF.{4}AVI ", "video/avi"),
        (rb"RIFF.{4}WAVE", "audio/wave"),
        (rb"ID3|\xff[\xfb\xf3\xf2]", "audio/mpeg"),
        (rb"OggS\x00", "application/ogg"),
        (rb"fLaC", "audio/flac"),
        (rb"wOFF", "font/woff"),
        (rb"wOF2", "font/woff2"),
        (rb"\x1f\x8b\x08", "application/gzip"),
        (rb"PK\x03\x04", "application/zip"),
        (rb"Rar!\x1a\x07", "application/vnd.rar"),
        (rb"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
        (rb"\x00asm", "application/wasm"),
    )
)


class Keeping(NamedTuple):
    """What becomes of one body."""

    what: Literal["store", "head", "skip"]
    max_bytes: int
    larger: Literal["cut", "head", "skip"] = "cut"


def essence(content_types: Sequence[str]) -> str | None:
    """The media type in force, lower case and without parameters: the last valid one (Fetch Standard, 3.2.6)."""
    found: str | None = None
    for value in content_types:
        for each in value.split(","):
            kind = each.partition(";")[0].strip(" \t")
            if _ESSENCE.fullmatch(kind) and kind != "*/*":
                found = kind.lower()
    return found


def declared_type(content_types: Sequence[str]) -> str | None:
    """The type that a server declares; ``None`` also where it only says that it knows none (MIME Sniffing, 7)."""
    kind = essence(content_types)
    return None if kind in _UNKNOWN else kind


class MediaPolicy:
    """Which media types are worth a page, and how much of it."""

    def __init__(self, rules: Sequence[MediaRule], stored: Sequence[str], max_bytes: int) -> None:
        """``stored`` are the patterns of types that no rule is for; a body has at most ``max_bytes``."""
        self._rules = [
            (_any_of(rule.types), Keeping(rule.keep, min((rule.max_kib or max_bytes) * 1024, max_bytes), rule.larger))
            for rule in rules
        ]
        self._rules.append((_any_of(stored), Keeping("store", max_bytes)))
        self._max_bytes = max_bytes

    def of(self, kind: str, length_bytes: int | None = None) -> Keeping:
        """What becomes of a body of this type; its length where it is known before it comes."""
        keeping = next((each for pattern, each in self._rules if pattern.fullmatch(kind)), Keeping("skip", 0))
        is_larger = length_bytes is not None and length_bytes > keeping.max_bytes
        if keeping.what == "store" and is_larger and keeping.larger != "cut":
            return keeping._replace(what=keeping.larger)
        return keeping


def sniff(body: bytes) -> str:
    """The media type of a body that declares none, by its first bytes (MIME Sniffing Standard, 7)."""
    start = body[:_SNIFFED_BYTES]
    if _HTML.match(start):
        return "text/html"
    if _XML.match(start):
        return "text/xml"
    found = next((kind for pattern, kind in _MAGIC if pattern.match(start)), None)
    if found is not None:
        return found
    return "text/plain" if looks_like_text(start) else "application/octet-stream"


def looks_like_text(first_bytes: bytes) -> bool:
    """Whether a body is text, in any charset."""
    start = first_bytes[:_SNIFFED_BYTES]
    return start.startswith(_TEXT_MARKS) or _BINARY.search(start) is None


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(translate(pattern.lower()) for pattern in patterns) or r"(?!)")
