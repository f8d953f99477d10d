"""Settings of the fetchers."""

from infra.settings.group import Group


class FetcherSettings(Group):
    """What can be set about the fetchers."""
