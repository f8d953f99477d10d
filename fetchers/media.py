"""Which bodies are stored, by their declared media type or their first bytes. Pure."""

import re
from collections.abc import Sequence
from fnmatch import translate

RENDERED_TYPES = frozenset({"text/html", "application/xhtml+xml"})
"""What a browser makes a page of."""

_ESSENCE = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# The binary data bytes of the MIME Sniffing Standard, section 3.
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_SNIFFED_BYTES = 1_445
_TEXT_WITH_ZEROS = (b"\xfe\xff", b"\xff\xfe", b"%PDF-")


def essence(content_types: Sequence[str]) -> str | None:
    """The media type in force, lower case and without parameters: the last valid one (Fetch Standard, 3.2.6)."""
    found: str | None = None
    for value in content_types:
        for each in value.split(","):
            kind = each.partition(";")[0].strip(" \t")
            if _ESSENCE.fullmatch(kind) and kind != "*/*":
                found = kind.lower()
    return found


class StoragePolicy:
    """A list of media types that are worth a page."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._stored = re.compile("|".join(translate(pattern.lower()) for pattern in patterns) or r"(?!)")

    def stores(self, kind: str) -> bool:
        """Whether a body of this declared type is stored."""
        return self._stored.fullmatch(kind) is not None


def looks_like_text(first_bytes: bytes) -> bool:
    """Whether an undeclared body is worth a page: text in any charset, or PDF."""
    start = first_bytes[:_SNIFFED_BYTES]
    return start.startswith(_TEXT_WITH_ZEROS) or _BINARY.search(start) is None
