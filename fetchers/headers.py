"""The header of a request: who we are, what we can read, what we have already, and what a rule adds for its host."""

import os
import time
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from fetchers.cookies import CookieJar
from fetchers.heads import Head
from fetchers.signatures import NONCE_BYTES, signer
from infra.settings import Settings
from infra.settings.headers import Profile, is_header_name, is_header_value
from schemas.names import of_name
from schemas.records import Request
from schemas.url import Url

ACCEPT_ENCODING = "gzip, deflate, br, zstd"
"""What the cleaners can undo within bounds, and nothing else."""


class Sent(NamedTuple):
    """A request as it goes out."""

    raw: bytes
    conditional: bool


class RequestHeaders:
    """Makes the headers of requests. The same host gets the same ones, whichever process asks."""

    def __init__(self, settings: Settings) -> None:
        wanted = settings.fetchers.headers
        self._profiles = wanted.profiles or (Profile(user_agent=settings.identity.user_agent),)
        self._hosts = wanted.hosts
        self._jar = CookieJar(wanted.cookie_sites, wanted.cookies_per_site) if wanted.cookies else None
        self._signer = signer(wanted.signatures)
        self._same_for_all = self._fixed_of("") if len(self._profiles) == 1 and not self._hosts else None
        self._by_name = lru_cache(maxsize=10_000)(self._fixed_of)

    @property
    def user_agent(self) -> str:
        """What we say we are where no rule says otherwise."""
        return self._profiles[0].user_agent

    def of(self, url: Url, request: Request) -> Sent:
        """A GET for a canonical URL, on the condition that it has changed where validators are known."""
        conditions = _conditions(request)
        cookies = self._cookies(request.crawl, url)
        more = f"Cookie: {cookies}\r\n{conditions}" if cookies else conditions
        fixed = self._same_for_all or self._by_name(url.name)
        raw = f"GET {url.path} HTTP/1.1\r\nHost: {url.host}\r\n{fixed}{more}{self._signature(url)}\r\n".encode()
        return Sent(raw, bool(conditions))

    def of_part(self, url: Url, crawl: str, method: str, more: Mapping[str, str], body: bytes) -> bytes:
        """A request for something that a page asks for; what of ``more`` cannot be sent is left out."""
        fixed = dict(self._headers_of(url.name))
        for name, value in more.items():
            if is_header_name(name) and is_header_value(value):
                fixed = _merged(fixed, {name.title(): value})
        if cookies := self._cookies(crawl, url):
            fixed["Cookie"] = cookies
        if body or method == "POST":
            fixed["Content-Length"] = str(len(body))
        return (
            f"{method} {url.path} HTTP/1.1\r\nHost: {url.host}\r\n{_lines(fixed)}{self._signature(url)}\r\n".encode()
            + body
        )

    def hear(self, url: Url, request: Request, head: Head) -> None:
        """Keep the cookies of an answer, where cookies are kept."""
        if self._jar is not None and (lines := head.values(b"set-cookie")):
            self._jar.take(request.crawl, url, lines, time.time())

    def _cookies(self, crawl: str, url: Url) -> str:
        """Those that were kept; none where a rule says what its hosts get, for a request has one Cookie field."""
        if self._jar is None or any(name.lower() == "cookie" for name in of_name(self._hosts, url.name) or ()):
            return ""
        return self._jar.header(crawl, url, time.time())

    def _signature(self, url: Url) -> str:
        if self._signer is None:
            return ""
        return self._signer.lines(url.host, time.time(), os.urandom(NONCE_BYTES))

    def _fixed_of(self, name: str) -> str:
        return _lines(self._headers_of(name))

    def _headers_of(self, name: str) -> dict[str, str]:
        at = int.from_bytes(blake2b(name.encode(), digest_size=4).digest(), "big") % len(self._profiles)
        headers = self._profiles[at].headers | {"Accept-Encoding": ACCEPT_ENCODING}
        return _merged(headers, of_name(self._hosts, name) or {})


def _merged(headers: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """``more`` replaces what has the same name, whatever its case."""
    replaced = {name.lower() for name in more}
    return {name: value for name, value in headers.items() if name.lower() not in replaced} | dict(more)


def _lines(headers: Mapping[str, str]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


def _conditions(request: Request) -> str:
    """Headers of a conditional request (RFC 9110, 13.1)."""
    lines = ""
    if request.etag and is_header_value(request.etag):
        lines += f"If-None-Match: {request.etag}\r\n"
    if request.last_modified and is_header_value(request.last_modified):
        lines += f"If-Modified-Since: {request.last_modified}\r\n"
    return lines
