"""Settings of what links say about themselves."""

from typing import Literal

from infra.settings.group import Group

Follow = Literal["follow", "ignore"]


class LinkSettings(Group):
    """Which statements of a page about links and about itself are heeded."""

    nofollow: Literal["obey", "ignore"] = "obey"
    """``rel=nofollow`` of a link, and of a whole page ``nofollow`` in meta robots elements and X-Robots-Tag headers."""
    noindex: Literal["mark", "drop", "ignore"] = "mark"
    """Of a page: its document has the flag ``noindex``, or there is none and a decision says so, or nothing."""
    canonical: Follow = "follow"
    """Whether the address that a page calls its own is one of its links."""
    hreflang: Follow = "follow"
    """Whether the same page in other languages is, as pages and sitemaps name it."""
    feeds: Follow = "ignore"
    """Whether the feeds of a page are read for links."""
