"""Settings of the sinks."""

from infra.settings.group import Group


class SinkSettings(Group):
    """What can be set about the sinks."""
