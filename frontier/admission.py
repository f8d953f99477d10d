"""Which records of links are taken at all. They come from our own stages; what comes from elsewhere stops nothing."""

import re

from infra.errors import NeverValid
from schemas.records import Links
from schemas.url import MAX_URL_LENGTH, InvalidUrl, split

_CRAWL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def check(links: Links) -> None:
    """Raises :class:`NeverValid` when a record of the pipeline could not carry what this one holds."""
    if _CRAWL.fullmatch(links.crawl) is None:
        raise NeverValid("crawl_name", "the crawl has no valid name")
    if any(len(text) > MAX_URL_LENGTH for text in (links.host, links.parent or "", *links.urls)):
        raise NeverValid("too_long", f"a URL is longer than {MAX_URL_LENGTH} characters")


def is_of_host(url: str, host: str) -> bool:
    """Whether it is a canonical URL of the host: otherwise it would be fetched at another host's pace."""
    try:
        found = split(url)
    except InvalidUrl:
        return False
    return found.host == host and found.href == url
