"""Cookies (RFC 6265bis), kept apart by crawl and site, bounded, never for a public suffix. Pure: the clock is given.

Off unless a setting says otherwise. What is kept is in this process alone: a host's requests mostly come to one.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from schemas.url import Url, registrable_domain

_MAX_COOKIE_BYTES = 4_096
_MAX_SENT_BYTES = 16 * 1024
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_FOR_EVER = float("inf")


class Cookie(NamedTuple):
    """One cookie as it is sent back."""

    name: str
    value: str
    domain: str
    """The host, or the domain that it is for."""
    host_only: bool
    path: str
    secure: bool
    until_s: float
    """By the wall clock."""


def parse_cookie(line: bytes, url: Url, now_s: float) -> Cookie | None:
    """What a Set-Cookie of the answer for ``url`` sets; ``None`` when it is none, or not for that host to set."""
    text = line.decode("latin-1")
    if len(line) > _MAX_COOKIE_BYTES or _CONTROL.search(text):
        return None
    pair, *attributes = text.split(";")
    name, equals, value = pair.partition("=")
    name, value = name.strip(" \t"), value.strip(" \t")
    if not equals or not name or not (name + value).isascii():
        return None
    given: dict[str, str] = {}
    for attribute in attributes:
        key, _, content = attribute.partition("=")
        given[key.strip(" \t").lower()] = content.strip(" \t")
    host = url.name
    domain = given.get("domain", "").lower().removeprefix(".") or host
    # A host may set cookies for itself and for its own site, not for a suffix that others live under.
    if domain != host and not (host.endswith(f".{domain}") and domain.endswith(registrable_domain(host))):
        return None
    path = given.get("path", "")
    if not path.startswith("/"):
        path = url.path.partition("?")[0].rpartition("/")[0] or "/"
    secure = "secure" in given
    if (secure and url.scheme != "https") or not _keeps_its_prefix(name, secure, given, path):
        return None
    return Cookie(name, value, domain, "domain" not in given, path, secure, _until_s(given, now_s))


def _keeps_its_prefix(name: str, secure: bool, given: dict[str, str], path: str) -> bool:
    if name.lower().startswith("__host-"):
        return secure and "domain" not in given and path == "/"
    return secure or not name.lower().startswith("__secure-")


def _until_s(given: dict[str, str], now_s: float) -> float:
    if re.fullmatch(r"-?\d{1,12}", age := given.get("max-age", "")):
        return now_s + int(age)
    if "expires" in given:
        try:
            return parsedate_to_datetime(given["expires"]).replace(tzinfo=UTC).timestamp()
        except (ValueError, TypeError, OverflowError):
            return _FOR_EVER
    return _FOR_EVER


class CookieJar:
    """Cookies by crawl and site."""

    def __init__(self, max_sites: int, per_site: int) -> None:
        self._max_sites = max_sites
        self._per_site = per_site
        self._sites: OrderedDict[tuple[str, str], dict[tuple[str, str, str], Cookie]] = OrderedDict()

    def take(self, crawl: str, url: Url, lines: Iterable[bytes], now_s: float) -> None:
        """Keep what the Set-Cookie lines of an answer set."""
        key = crawl, registrable_domain(url.name)
        for line in lines:
            cookie = parse_cookie(line, url, now_s)
            if cookie is None:
                continue
            site = self._sites.setdefault(key, {})
            identity = cookie.domain, cookie.path, cookie.name
            site.pop(identity, None)
            if cookie.until_s > now_s:
                site[identity] = cookie
            if len(site) > self._per_site:
                del site[next(iter(site))]
            self._sites.move_to_end(key)
            if len(self._sites) > self._max_sites:
                self._sites.popitem(last=False)

    def header(self, crawl: str, url: Url, now_s: float) -> str:
        """The value of Cookie for a request, empty for none: longer paths first (RFC 6265bis, 5.8.3)."""
        site = self._sites.get((crawl, registrable_domain(url.name)), {})
        fit = [cookie for cookie in site.values() if cookie.until_s > now_s and _is_for(cookie, url)]
        fit.sort(key=lambda cookie: -len(cookie.path))
        text = "; ".join(f"{cookie.name}={cookie.value}" for cookie in fit)
        return text if len(text) <= _MAX_SENT_BYTES else ""


def _is_for(cookie: Cookie, url: Url) -> bool:
    """Ports do not count (RFC 6265bis, 8.5)."""
    host = url.name
    if host != cookie.domain and (cookie.host_only or not host.endswith(f".{cookie.domain}")):
        return False
    if cookie.secure and url.scheme != "https":
        return False
    path = url.path.partition("?")[0]
    return path == cookie.path or path.startswith(cookie.path if cookie.path.endswith("/") else f"{cookie.path}/")
