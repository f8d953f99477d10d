"""From what anybody wrote to ``seeds`` to a canonical URL for the frontier.

A seed is a URL as plain UTF-8 text, a JSON object with the fields of :class:`schemas.records.Seed`, a JSON string, or
Avro in either framing (:mod:`schemas.wire`). Be liberal in what costs nothing: white space and a byte order mark around
it, and a bare host name such as ``example.org/x``, which gets ``https://``. Be strict where it would mislead: a field
that a seed does not have is an error, since whoever writes ``depth`` expects it to matter, and so are two URLs in one
record.
"""

import json
import re

from pydantic import ValidationError

from infra.errors import NeverValid
from schemas.records import Kind, Links, Reason, Seed
from schemas.url import InvalidUrl, Url, canonicalize
from schemas.wire import CONFLUENT, MARKER, Undecodable, decode

_BARE_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\.[A-Za-z]{2,63}(?::\d{1,5})?(?:[/?#]\S*)?")
_BOM = b"\xef\xbb\xbf"


def read(value: bytes | None) -> Seed:
    """The seed in a record's value. Raises :class:`NeverValid` with what is wrong with it."""
    if value is not None and value.startswith((MARKER, CONFLUENT)):
        try:
            return decode(Seed, value)
        except Undecodable as error:
            raise NeverValid("bad_avro", str(error)) from None
    trimmed = (value or b"").strip().removeprefix(_BOM).strip()
    if not trimmed:
        raise NeverValid("empty_seed", "the record has no value; a seed is a URL, a JSON object or Avro")
    if trimmed[:1] == b"{":
        return _json(trimmed)
    return Seed(url=_address(_text(trimmed)))


def _text(value: bytes) -> str:
    try:
        text = json.loads(value) if value[:1] == b'"' else value.decode("utf-8")
    except (UnicodeDecodeError, ValueError):
        raise NeverValid("bad_text", "the value is neither UTF-8 text, nor JSON, nor Avro") from None
    text = str(text).strip()
    if "\n" in text or "\r" in text:
        raise NeverValid("bad_text", "the value has more than one line: write one record for each URL")
    return text


def _json(value: bytes) -> Seed:
    try:
        seed = Seed.model_validate_json(value)
    except ValidationError as error:
        [first, *_] = error.errors(include_url=False, include_input=False)
        where = ".".join(map(str, first["loc"]))[:100]
        raise NeverValid("bad_json", f"{where}: {first['msg']}" if where else str(first["msg"])) from None
    return seed.model_copy(update={"url": _address(seed.url.strip())})


def _address(text: str) -> str:
    return f"https://{text}" if _BARE_HOST.fullmatch(text) else text


def to_url(seed: Seed) -> Url:
    """The seed's URL in canonical form. Raises :class:`NeverValid` when it cannot be crawled."""
    if seed.kind is Kind.ROBOTS:
        raise NeverValid("kind_robots", "a robots.txt is read before anything of its host, and is no seed")
    try:
        return canonicalize(seed.url)
    except InvalidUrl as error:
        raise NeverValid(f"url_{error.reason}", str(error)) from None


def links(seed: Seed, url: Url) -> Links:
    """What the frontier is told."""
    return Links(crawl=seed.crawl, host=url.host, reason=Reason.SEED, depth=0, urls=[url.href], kind=seed.kind)
