"""Settings of the frontier."""

from datetime import timedelta

from pydantic import Field

from infra.settings.group import Group
from infra.settings.revisit import RevisitSettings
from infra.settings.traps import TrapSettings


class FrontierSettings(Group):
    """Politeness, patience and memory. ``docs/frontier.md`` gives the reasons."""

    delay: timedelta = Field(default=timedelta(seconds=1), ge=timedelta(0))
    """Between two requests to one host, where the crawl does not say otherwise; robots.txt may ask for more."""
    longest_crawl_delay: timedelta = timedelta(seconds=60)
    """What a robots.txt may ask for at the most."""
    per_host: int = Field(default=1, ge=1, le=64)
    """Requests to one host at a time."""
    attempts: int = Field(default=3, ge=1, le=20)
    """Of one visit, before its outcome is final."""
    uncounted_attempts: int = Field(default=100, ge=0)
    """Beside those: for want of a proxy, which is neither the URL's nor its host's fault. Each waits longer, too."""
    backoff_shortest: timedelta = timedelta(seconds=1)
    backoff_longest: timedelta = timedelta(minutes=5)
    longest_retry_after: timedelta = timedelta(hours=1)
    give_up_host_after: int = Field(default=10, ge=1)
    """Times in a row that a host did not answer; then what waits for it ends as unreachable."""
    max_hops: int = Field(default=10, ge=0, le=50)
    """Redirects in a row."""
    max_depth: int = Field(default=1_000, ge=0)
    """Links from a seed, whatever the crawl says: a trap's end."""
    robots_fresh: timedelta = timedelta(hours=24)
    """How long a robots.txt is believed (RFC 9309, 2.4)."""
    robots_hops: int = Field(default=5, ge=0, le=10)
    """Redirects of a robots.txt that are followed (RFC 9309, 2.3.1.2)."""
    lease_timeout: timedelta = timedelta(seconds=20)
    """After it, a request that the fetchers have committed without a result is released again."""
    hot_entries: int = Field(default=32, ge=1, le=10_000)
    """URLs of one host that are kept in memory; the others wait on disk."""
    recent_fingerprints: int = Field(default=500_000, ge=0)
    """Seen URLs that are known without asking the disk."""
    revisit: RevisitSettings = RevisitSettings()
    traps: TrapSettings = TrapSettings()
