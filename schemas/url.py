"""URL identity: one parser (WHATWG URL Standard, by ada) for seeds, links, redirects, robots and sitemaps.

Two parsers that disagree on one URL are a way around robots.txt and around the address check, so every URL of the
pipeline passes through :func:`canonicalize` once, at the border, and travels as its canonical form from then on.
"""

import re
from functools import lru_cache
from hashlib import blake2b
from typing import Literal, NamedTuple

from ada_url import URL, idna_to_unicode
from publicsuffixlist import PublicSuffixList

MAX_URL_LENGTH = 2_000

# Ports that no browser connects to (Fetch Standard, section 2.9 "port blocking"): mail, ssh, X11, IRC and the like.
# fmt: off
BAD_PORTS = frozenset((
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
    110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530,
    531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190,
    5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
))
# fmt: on

Fault = Literal["malformed", "scheme", "host", "port", "too_long"]

_HREF = re.compile(
    r"(?P<scheme>https?)://(?:[^/?#@]*@)?(?P<name>\[[^\]]*\]|[^:/?#]*)(?::(?P<port>\d+))?"
    r"(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?:#.*)?",
    re.DOTALL,
)
_ESCAPE = re.compile(r"%(?:([0-9A-Fa-f]{2})|)")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class InvalidUrl(ValueError):
    """The text names nothing that can be crawled. ``reason`` is a closed set, fit for a label or a dead letter."""

    def __init__(self, reason: Fault, detail: str) -> None:
        super().__init__(detail)
        self.reason: Fault = reason


class Url(NamedTuple):
    """A canonical URL. ``str(url)`` is what is fetched, stored and compared.

    ``host`` is the WHATWG host: the name in ASCII lower case, with the port only where it is not the scheme's own.
    It is the Kafka key and the unit of politeness.
    """

    href: str
    scheme: str
    host: str
    path: str
    """Path and query, as on the request line."""

    def __str__(self) -> str:
        return self.href

    @property
    def name(self) -> str:
        """The host without its port: what is looked up in DNS; IPv6 addresses keep their brackets."""
        return host_name(self.host)

    @property
    def port(self) -> int:
        """The port to dial."""
        explicit = self.host[len(self.name) + 1 :]
        return int(explicit) if explicit else 443 if self.scheme == "https" else 80

    @property
    def origin(self) -> str:
        """Scheme and host: the unit of robots.txt (RFC 9309, 2.3)."""
        return f"{self.scheme}://{self.host}"


def join(base: str, reference: str) -> str | None:
    """Resolve ``reference`` against ``base`` as a browser does (URL Standard, 4.4); ``None`` when it is no URL."""
    try:
        return _parse(reference, base)
    except (ValueError, UnicodeError):
        return None


def _parse(text: str, base: str | None) -> str:
    href = str(URL(text, base).href)
    # ada lets an ASCII host pass whose punycode means nothing (URL Standard, 3.3: domain to ASCII fails).
    if "xn--" in href and (parts := _HREF.fullmatch(href)) and not _is_punycode(parts["name"]):
        raise ValueError
    return href


@lru_cache(maxsize=1_024)
def _is_punycode(name: str) -> bool:
    pairs = zip(name.split("."), idna_to_unicode(name).split("."), strict=True)
    return all(readable != label for label, readable in pairs if label.startswith("xn--"))


def canonicalize(text: str, base: str | None = None) -> Url:
    """The canonical form of ``text``, resolved against ``base`` when given.

    After the WHATWG parse: http and https only; no user info (it is a secret) and no fragment; one trailing dot of the
    host dropped; escapes upper-cased, escapes of unreserved characters undone and a bare ``%`` escaped (RFC 3986,
    6.2.2). The order of a query is kept, because servers may read it. Idempotent. Raises :class:`InvalidUrl`.
    """
    if len(text) > 8 * MAX_URL_LENGTH:
        raise InvalidUrl("too_long", f"longer than {MAX_URL_LENGTH} characters")
    try:
        href = _parse(text, base)
    except (ValueError, UnicodeError):
        raise InvalidUrl("malformed", "not a URL by the WHATWG URL Standard") from None
    return split(href)


def split(href: str) -> Url:
    """The canonical form of a serialised WHATWG URL; for canonical input it only takes the parts."""
    parts = _HREF.fullmatch(href)
    if parts is None:
        raise InvalidUrl("scheme", "only http and https can be crawled")
    scheme, name, port, path, query = parts.group("scheme", "name", "port", "path", "query")
    host = _host(name, port)
    if "%" in path or (query and "%" in query):
        path, query = normalize_escapes(path), normalize_escapes(query or "")
    target = path + query if query else path
    canonical = f"{scheme}://{host}{target}"
    if len(canonical) > MAX_URL_LENGTH:
        raise InvalidUrl("too_long", f"longer than {MAX_URL_LENGTH} characters")
    return Url(canonical, scheme, host, target)


@lru_cache(maxsize=65_536)
def _host(name: str, port: str | None) -> str:
    name = name.removesuffix(".")
    labels = name.split(".")
    # The parser lets empty and overlong labels pass; DNS does not (RFC 1035, 2.3.1).
    if not name.startswith("[") and not all(0 < len(label) <= 63 for label in labels):
        raise InvalidUrl("host", "the host has an empty or overlong label")
    if len(name) > 253:
        raise InvalidUrl("host", "the host is longer than 253 characters")
    if port and int(port) in BAD_PORTS:
        raise InvalidUrl("port", f"port {port} is blocked by the Fetch Standard")
    return f"{name}:{port}" if port else name


def normalize_escapes(text: str) -> str:
    """Percent-escapes in their normal form (RFC 3986, 6.2.2.1 and 6.2.2.2); a ``%`` that escapes nothing is ``%25``."""
    return _ESCAPE.sub(_normalize_escape, text)


def _normalize_escape(escape: re.Match[str]) -> str:
    digits = escape.group(1)
    if digits is None:
        return "%25"
    character = chr(int(digits, 16))
    return character if character in _UNRESERVED else f"%{digits.upper()}"


def host_name(host: str) -> str:
    """The host without its port."""
    if host.startswith("["):
        return host[: host.index("]") + 1]
    return host.partition(":")[0]


def is_address(name: str) -> bool:
    """Whether a canonical name is an IP address: IPv6 in brackets, or whatever ends in a number (URL Standard, 3.5)."""
    return name.startswith("[") or name.rpartition(".")[2].isdigit()


@lru_cache(maxsize=65_536)
def registrable_domain(host: str) -> str:
    """The public suffix of the host and one label more (publicsuffix.org); an address or a bare suffix is its own."""
    name = host_name(host)
    if is_address(name):
        return name
    return _suffixes().privatesuffix(name) or name


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


def url_id(href: str) -> bytes:
    """16 bytes that stand for a canonical URL: the key of ``pages`` and ``documents``."""
    return blake2b(href.encode(), digest_size=16).digest()
