"""Settings of the stream workers."""

from datetime import timedelta
from pathlib import Path

from pydantic import Field

from infra.settings.group import Group


class StreamSettings(Group):
    """How pages are cleaned."""

    batch_pages: int = Field(default=50, ge=1, le=1_000)
    """Pages whose documents and links are produced together."""
    batch_within: timedelta = timedelta(milliseconds=20)
    """The longest a page waits for its batch to fill."""
    batch_seeds: int = Field(default=200, ge=1, le=10_000)
    recent_links: int = Field(default=100_000, ge=0, le=10_000_000)
    """Links that each worker remembers, so that a site's navigation is told to the frontier once (about 100 bytes each,
    twice)."""
    max_outlinks: int = Field(default=1_000, ge=0, le=10_000)
    """New links of one page that are told to the frontier; a page with more is a trap more often than an index."""
    rules: Path | None = None
    """Per-site extraction rules: a TOML file or a folder of them; read again when changed, refused when bad."""
    changes: bool = True
    """Whether pages are compared with their former versions, which costs a record of each page in a compacted topic."""
    markdown: bool = True
    """Whether documents hold their main text as Markdown too."""
    recent_texts: int = Field(default=50_000, ge=0, le=10_000_000)
    """Texts that each worker remembers to mark copies (about a kilobyte each, twice); 0 marks none."""
    costly_pages_timeout: timedelta = Field(default=timedelta(seconds=10), gt=timedelta(0))
    """What one page that is large, or that rules or custom cleaners read, may take in a process of its own before
    that is killed and the page read by patterns alone."""
    costly_pages_memory_mib: int = Field(default=1_024, ge=256)
    """What that process may address."""
