"""Settings of the rules against traps."""

from datetime import timedelta

from pydantic import Field, field_validator

from infra.settings.group import Group


class TrapSettings(Group):
    """What a URL may look like, and how many of a kind are taken, in each crawl; 0 means no limit. Seeds are exempt."""

    max_chars: int = Field(default=1_500, ge=0)
    """Of a URL."""
    max_segments: int = Field(default=20, ge=0)
    """Of a path."""
    max_repeats: int = Field(default=3, ge=0)
    """Of the same segment in a path, or of the same parameter with the same value in a query."""
    max_parameters: int = Field(default=20, ge=0)
    """Of a query."""
    max_escapes: int = Field(default=3, ge=0)
    """Layers of escaping: ``%2525`` has two."""
    calendar_back: timedelta = timedelta(days=30 * 366)
    """How far back a page of a calendar may lie; one that names a year alone may lie as far back as it likes."""
    calendar_ahead: timedelta = timedelta(days=2 * 366)
    """How far ahead."""
    session_parameters: frozenset[str] = frozenset(
        {"jsessionid", "phpsessid", "sessionid", "session_id", "sessid", "sid", "oscsid", "zenid", "cftoken"}
    )
    """Names, in lower case, whose long values are sessions: they are taken off a URL, save off a redirect's target."""
    host_urls: int = Field(default=1_000_000, ge=0)
    """URLs of one host."""
    pattern_urls: int = Field(default=50_000, ge=0)
    """URLs of one host that differ only in the values of their parameters and in the numbers of their path."""
    domain_urls: int = Field(default=2_000_000, ge=0)
    """URLs of all hosts of one registrable domain, counted by each partition over its own hosts."""
    domain_hosts: int = Field(default=1_000, ge=0)
    """Hosts of one registrable domain, counted by each partition over its own hosts: the end of wildcard DNS."""

    @field_validator("session_parameters")
    @classmethod
    def _lower(cls, names: frozenset[str]) -> frozenset[str]:
        return frozenset(map(str.lower, names))
