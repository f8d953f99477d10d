"""Which URLs are not requested at all, before any name is resolved. Pure."""

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache

from schemas.url import InvalidUrl, Url, canonicalize, split

_PRINTABLE = re.compile(r"[!-~]+")


@dataclass(frozen=True)
class TargetPolicy:
    """Names and ports that are never dialled, whatever they resolve to."""

    blocked_names: AbstractSet[str]
    blocked_ports: AbstractSet[int]

    def refusal(self, href: str) -> str | None:
        """Why the URL must not be requested; ``None`` when it may.

        A URL that is not in canonical form is refused: another parser might read another host out of it.
        """
        try:
            url = split(href)
            canonical = url.href == href and _is_canonical_origin(url.origin) and _PRINTABLE.fullmatch(href)
        except InvalidUrl as error:
            return f"not a URL that can be crawled: {error}"
        if not canonical:
            return "not a canonical URL"
        return self._refusal(url)

    def _refusal(self, url: Url) -> str | None:
        if url.name in self.blocked_names:
            return f"the name {url.name} is blocked"
        if url.port in self.blocked_ports:
            return f"port {url.port} is blocked"
        return None


@lru_cache(maxsize=65_536)
def _is_canonical_origin(origin: str) -> bool:
    # What is dialled depends on scheme, host and port alone: the full parse is for them, once for each.
    return canonicalize(f"{origin}/").href == f"{origin}/"
