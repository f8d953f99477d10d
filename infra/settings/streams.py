"""Settings of the streams."""

from infra.settings.group import Group


class StreamSettings(Group):
    """What can be set about the streams."""
