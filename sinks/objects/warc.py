"""Raw pages as a web archive: WARC 1.1 (ISO 28500:2017) and its index. Pure; the same pages, the same bytes.

Written by ourselves, because the pages are kept as they came: a library that parses the HTTP head and writes it again
changes what servers really sent.
"""

import gzip
from base64 import b32encode
from collections.abc import Sequence
from datetime import UTC
from hashlib import sha1
from importlib.metadata import version
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

from schemas.records import Cut, Page

SUFFIX = "warc.gz"

_TRUNCATED = {Cut.LENGTH: "length", Cut.TIME: "time", Cut.DISCONNECT: "disconnect", Cut.DECODE: "unspecified"}
_CRLF = b"\r\n"


class Archived(NamedTuple):
    """Where a page's record lies in its archive, for the index."""

    page: Page
    digest: str
    """SHA-1 of the payload in base 32, as archives have it."""
    offset: int
    length: int


def archive(name: str, pages: Sequence[tuple[Page, bytes]]) -> tuple[bytes, list[Archived]]:
    """A file of one ``warcinfo`` and one ``response`` for each page, each a gzip member of its own; and what is where.

    ``name`` is the file's; each page comes with its body, content codings as they came.
    """
    out = bytearray(_member(_info(name, pages[0][0])))
    found: list[Archived] = []
    for page, body in pages:
        digest = _sha1(body)
        member = _member(_response(name, page, body, digest))
        found.append(Archived(page, digest, len(out), len(member)))
        out += member
    return bytes(out), found


def _member(record: bytes) -> bytes:
    return gzip.compress(record, mtime=0)


def _record(headers: list[tuple[str, str]], block: bytes) -> bytes:
    ended = [*headers, ("WARC-Block-Digest", f"sha1:{_sha1(block)}"), ("Content-Length", str(len(block)))]
    lines = "".join(f"{name}: {value}\r\n" for name, value in ended)
    return b"WARC/1.1\r\n" + lines.encode() + _CRLF + block + _CRLF + _CRLF


def _sha1(data: bytes) -> str:
    return b32encode(sha1(data, usedforsecurity=False).digest()).decode()


def _info(name: str, first: Page) -> bytes:
    fields = {
        "software": f"odradek/{version('odradek')}",
        "format": "WARC File Format 1.1",
        "conformsTo": "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "isPartOf": first.crawl,
    }
    headers = [
        ("WARC-Type", "warcinfo"),
        ("WARC-Record-ID", record_id(f"warcinfo/{name}")),
        # The first page's, not the present: whoever writes the file again writes the same.
        ("WARC-Date", _date(first)),
        ("WARC-Filename", name.rpartition("/")[2]),
        ("Content-Type", "application/warc-fields"),
    ]
    return _record(headers, "".join(f"{key}: {value}\r\n" for key, value in fields.items()).encode())


def _response(name: str, page: Page, body: bytes, digest: str) -> bytes:
    block = _as_kept(page.head) + _CRLF + body
    headers = [
        ("WARC-Type", "response"),
        ("WARC-Record-ID", record_id(page.fetch_id)),
        ("WARC-Date", _date(page)),
        ("WARC-Target-URI", page.url),
        ("WARC-Warcinfo-ID", record_id(f"warcinfo/{name}")),
        ("WARC-Payload-Digest", f"sha1:{digest}"),
        ("Content-Type", "application/http;msgtype=response"),
    ]
    if page.cut is not None:
        headers.append(("WARC-Truncated", _TRUNCATED[page.cut]))
    return _record(headers, block)


def record_id(name: str) -> str:
    """The id of a record: the same for the same fetch, whoever writes it."""
    return f"<urn:uuid:{uuid5(NAMESPACE_URL, f'odradek:{name}')}>"


def _date(page: Page) -> str:
    return page.fetched_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def _as_kept(head: bytes) -> bytes:
    """The head with its transfer coding under another name, for it is undone: a reader would look for chunks."""
    lines = head.split(_CRLF)
    return _CRLF.join(b"X-Crawl-" + line if line[:18].lower() == b"transfer-encoding:" else line for line in lines)


def media_type(head: bytes) -> str:
    """The essence that the head names, as an index has it; ``unk`` where it names none."""
    for line in head.split(_CRLF):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-type":
            essence = value.split(b";")[0].strip().lower().decode("ascii", "replace")
            return essence if essence and " " not in essence else "unk"
    return "unk"
