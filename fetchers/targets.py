"""Which URLs are not requested at all, before any name is resolved. Pure."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from schemas.url import InvalidUrl, Url, canonicalize


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
            url = canonicalize(href)
        except InvalidUrl as error:
            return f"not a URL that can be crawled: {error}"
        if url.href != href:
            return "not a canonical URL"
        return self._refusal(url)

    def _refusal(self, url: Url) -> str | None:
        if url.name in self.blocked_names:
            return f"the name {url.name} is blocked"
        if url.port in self.blocked_ports:
            return f"port {url.port} is blocked"
        return None
