"""The index of an archive: a line for each capture, sorted (CDXJ, as pywb and others read it). Pure."""

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from urllib.parse import urlsplit

from sinks.objects.warc import Archived, media_type
from sinks.tables import Key

SUFFIX = "cdxj"

_WWW = re.compile(r"^www\d*\.")


def index(name: str, archived: Iterable[Archived]) -> bytes:
    """The index of the archive called ``name``; it also says which fetch each capture was."""
    return "".join(sorted(_line(name, each) for each in archived)).encode()


def _line(name: str, archived: Archived) -> str:
    page = archived.page
    fields = {
        "url": page.url,
        "mime": media_type(page.head),
        "status": str(page.status),
        "digest": archived.digest,
        "length": str(archived.length),
        "offset": str(archived.offset),
        "filename": name,
        "fetch_id": page.fetch_id,
        "fetched_at": page.fetched_at.astimezone(UTC).isoformat(),
    }
    return f"{surt(page.url)} {page.fetched_at.astimezone(UTC):%Y%m%d%H%M%S} {json.dumps(fields)}\n"


def versions(data: bytes) -> dict[Key, datetime]:
    """The fetches of an index."""
    lines = (json.loads(line.split(b" ", 2)[2]) for line in data.split(b"\n")[:-1])
    return {(each["fetch_id"],): datetime.fromisoformat(each["fetched_at"]) for each in lines}


def surt(url: str) -> str:
    """The sort-friendly form by which archives look a URL up: ``org,example)/path?a=1``, lower case, no ``www``.

    Arguments are sorted and a slash at the end is dropped, as the Internet Archive's canonicaliser does; it also drops
    ids of sessions, which the frontier has done where it shall.
    """
    parts = urlsplit(url)
    host = _WWW.sub("", parts.hostname or "")
    named = host if ":" in host or host.replace(".", "").isdigit() else ",".join(reversed(host.split(".")))
    port = f":{parts.port}" if parts.port else ""
    path = parts.path.rstrip("/") or "/"
    query = f"?{'&'.join(sorted(parts.query.split('&')))}" if parts.query else ""
    return f"{named}{port}){path}{query}".lower().replace(" ", "%20")
