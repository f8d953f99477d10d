"""From bytes to text as a browser does it (HTML Standard, 13.2.3; Encoding Standard).

Byte order mark, header, meta prescan, detection, in this order. Nothing raises, and no lone surrogate or NUL comes out.
"""

import codecs
import re
from typing import NamedTuple

import webencodings
from resiliparse.parse.encoding import detect_encoding

PRESCAN_BYTES = 16_384
"""The standard asks for 1,024 at the least; real pages put comments and scripts first."""
DETECT_BYTES = 65_536
FALLBACK = "windows-1252"

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
# The standard's decoders are supersets of the codecs that Python has by the same names.
_CODECS = {
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "big5": "big5hkscs",
    "windows-874": "cp874",
    "macintosh": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
    "iso-8859-8-i": "iso8859_8",
    "x-user-defined": "cp1252",
}
_ATTRIBUTE = re.compile(
    rb"""[\t\n\f\r /]*([^\t\n\f\r /=>][^\t\n\f\r /=>]*)"""
    rb"""(?:[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^\t\n\f\r >]+)))?"""
)
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_HINT = re.compile(rb"""<meta[^>]{0,300}charset[\t\n\f\r ]*=[\t\n\f\r "']*([A-Za-z0-9._-]+)""", re.IGNORECASE)
_CONTENT_CHARSET = re.compile(
    r"""charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^\t\n\f\r ;"']+))""", re.IGNORECASE
)


class Text(NamedTuple):
    """Decoded text and the WHATWG name of the encoding that was used."""

    text: str
    charset: str


def decode(body: bytes, header_label: str | None, *, html: bool) -> Text:
    """The text of ``body``. ``header_label`` is the charset parameter of Content-Type."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return _decoded(body[len(mark) :], name)
    name = known(header_label) or (prescan(body) if html else None) or detect(body)
    return _decoded(body, name)


def known(label: str | None) -> str | None:
    """The Encoding Standard's name for a label (section 4.2); ``None`` for a label that it does not have."""
    if not label:
        return None
    found = webencodings.lookup(label)
    return str(found.name) if found else None


def detect(body: bytes) -> str:
    """The most likely encoding by the bytes themselves."""
    first = _BEYOND_ASCII.search(body)
    if first is None:
        return FALLBACK
    if _is_utf8(body):
        return "utf-8"
    # A detector's time grows with what it is given, and what is ASCII tells it nothing.
    start = max(0, first.start() - 1_000)
    return _hinted(body) or known(detect_encoding(body[start : start + DETECT_BYTES])) or FALLBACK


def _is_utf8(body: bytes) -> bool:
    """Whether it is UTF-8; a body may be cut within a character, and one page in many has a few bytes gone wrong."""
    try:
        codecs.utf_8_decode(body, "strict", False)  # False: more may follow
    except UnicodeDecodeError:
        text = body.decode("utf-8", "replace")
        return text.count("\ufffd") * 50 < len(body) - len(text)
    return True


def _hinted(body: bytes) -> str | None:
    """A label in a meta element that the prescan may not believe, when the bytes agree with it."""
    match = _HINT.search(body[:PRESCAN_BYTES])
    name = known(match.group(1).decode("ascii")) if match else None
    if name is None:
        return None
    try:
        body.decode(_CODECS.get(name, name))
    except (UnicodeDecodeError, LookupError):
        return None
    return name


def prescan(body: bytes) -> str | None:
    """The encoding that a ``meta`` element names near the beginning (HTML Standard, 13.2.3.2)."""
    data = body[:PRESCAN_BYTES]
    place = 0
    while (place := data.find(b"<", place)) >= 0:
        rest = data[place:]
        if rest.startswith(b"<!--"):
            end = data.find(b"-->", place + 2)
            if end < 0:
                return None
            place = end + 3
        elif re.match(rb"<meta[\t\n\f\r /]", rest, re.IGNORECASE):
            name, place = _meta(data, place + 5)
            if name is not None:
                return name
        elif re.match(rb"</?[A-Za-z]", rest):
            place = _after_tag(data, place)
        elif rest[1:2] in (b"!", b"/", b"?"):
            end = data.find(b">", place)
            if end < 0:
                return None
            place = end + 1
        else:
            place += 1
    return None


def _attributes(data: bytes, place: int) -> tuple[dict[str, str], int]:
    found: dict[str, str] = {}
    while match := _ATTRIBUTE.match(data, place):
        name = match.group(1).lower().decode("latin-1")
        value = match.group(2) or match.group(3) or match.group(4) or b""
        found.setdefault(name, value.decode("latin-1"))
        place = match.end()
    return found, place


def _after_tag(data: bytes, place: int) -> int:
    name = re.match(rb"</?[^\t\n\f\r >]*", data[place:])
    _, place = _attributes(data, place + (name.end() if name else 1))
    return place


def _meta(data: bytes, place: int) -> tuple[str | None, int]:
    attributes, place = _attributes(data, place)
    if place >= len(data) or data.find(b">", place) < 0:
        return None, place
    label = attributes.get("charset")
    if label is None and attributes.get("http-equiv", "").lower() == "content-type":
        match = _CONTENT_CHARSET.search(attributes.get("content", ""))
        label = next((group for group in match.groups() if group is not None), None) if match else None
    name = known(label)
    # A page that can name its encoding in ASCII is not in UTF-16.
    if name in ("utf-16le", "utf-16be"):
        name = "utf-8"
    return (FALLBACK if name == "x-user-defined" else name), place


def _decoded(body: bytes, name: str) -> Text:
    codec = _CODECS.get(name, name)
    try:
        codecs.lookup(codec)
    except LookupError:
        codec = FALLBACK
    text = body.decode(codec, "replace")
    if "\0" in text:
        text = text.replace("\0", "")
    return Text(text, name)
