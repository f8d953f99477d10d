"""From what anybody wrote to ``seeds`` to a canonical URL for the frontier.

A seed is a URL as plain UTF-8 text (a bare host name gets ``https://``), a JSON object with the fields of
:class:`schemas.records.Seed`, or Avro single-object encoding of it. Fields that a seed does not have are an error,
since whoever writes ``depth`` expects it to matter.
"""

import re

from pydantic import ValidationError

from infra.errors import NeverValid
from schemas.records import Links, Reason, Seed
from schemas.url import InvalidUrl, Url, canonicalize
from schemas.wire import MARKER, Undecodable, decode

_BARE_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\.[A-Za-z]{2,}(?::\d+)?(?:/\S*)?")


def read(value: bytes | None) -> Seed:
    """The seed in a record's value. Raises :class:`NeverValid` with what is wrong with it."""
    if not value or not value.strip():
        raise NeverValid("empty_seed", "the record has no value; a seed is a URL, a JSON object or Avro")
    if value.startswith(MARKER):
        try:
            return decode(Seed, value)
        except Undecodable as error:
            raise NeverValid("bad_avro", str(error)) from None
    if value.lstrip()[:1] == b"{":
        return _json(value)
    try:
        text = value.decode("utf-8").strip().lstrip("\ufeff")
    except UnicodeDecodeError:
        raise NeverValid("bad_text", "the value is neither UTF-8 text, nor JSON, nor Avro") from None
    return Seed(url=f"https://{text}" if _BARE_HOST.fullmatch(text) else text)


def _json(value: bytes) -> Seed:
    try:
        return Seed.model_validate_json(value)
    except ValidationError as error:
        [first, *_] = error.errors(include_url=False, include_input=False)
        where = ".".join(map(str, first["loc"]))
        raise NeverValid("bad_json", f"{where}: {first['msg']}" if where else str(first["msg"])) from None


def to_url(seed: Seed) -> Url:
    """The seed's URL in canonical form. Raises :class:`NeverValid` when it cannot be crawled."""
    try:
        return canonicalize(seed.url)
    except InvalidUrl as error:
        raise NeverValid(f"url_{error.reason}", str(error)) from None


def links(seed: Seed, url: Url) -> Links:
    """What the frontier is told."""
    return Links(crawl=seed.crawl, host=url.host, reason=Reason.SEED, depth=0, urls=[url.href])
