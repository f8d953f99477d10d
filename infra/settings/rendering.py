"""Settings of the renderers: pages that need a browser, which of them, and within which limits."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from infra.settings.group import Group


class RenderingSettings(Group):
    """Nothing takes a browser unless it says so here. Followed by the frontier, the fetchers and the renderers."""

    hosts: frozenset[str] = frozenset()
    """Whose pages take a browser: names, or ``*.suffix``."""
    patterns: tuple[str, ...] = ()
    """Of the URLs that take one: regular expressions that are searched in canonical URLs."""
    detect: bool = False
    """Whether the fetchers hand over pages that show nothing before their scripts have run."""

    chromium: Path | None = None
    """The browser; ``None`` looks for it where distributions put it."""
    sandbox: Literal["auto", "on", "off"] = "auto"
    """Chromium's own: ``auto`` uses it unless we run as root, where it cannot work."""
    pages: int = Field(default=4, ge=1, le=64)
    """Rendered at a time, in one browser."""
    timeout: timedelta = Field(default=timedelta(seconds=20), gt=timedelta(0))
    """Of the scripts of one page, from the moment that its document is there; then what stands there is taken."""
    quiet: timedelta = Field(default=timedelta(milliseconds=500), gt=timedelta(0))
    """A page is finished when it has asked for nothing so long."""
    restless: timedelta = Field(default=timedelta(seconds=8), gt=timedelta(0))
    """A page that has loaded and goes on asking for things is finished after that."""
    max_requests: int = Field(default=200, ge=0)
    """Of one page, beside that for its document; the rest is refused."""
    max_total_kib: int = Field(default=50 * 1_024, ge=1)
    """Of all their answers."""
    max_memory_mib: int = Field(default=1_024, ge=64)
    """Of one page's process, scripts and document; beyond it the process is ended and the page has failed."""
    types: frozenset[str] = frozenset({"script", "stylesheet", "xhr", "fetch", "other"})
    """What is loaded, by Chromium's names of resource types; images, fonts and media add no text."""
    pages_per_browser: int = Field(default=1_000, ge=1)
    """Then it is started anew: browsers grow."""

    @field_validator("hosts")
    @classmethod
    def _are_lower_case(cls, hosts: frozenset[str]) -> frozenset[str]:
        return frozenset(host.lower() for host in hosts)

    @field_validator("patterns")
    @classmethod
    def _can_be_searched(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
        return patterns

    @property
    def is_wanted(self) -> bool:
        """Whether any page may take a browser."""
        return bool(self.hosts or self.patterns or self.detect)
