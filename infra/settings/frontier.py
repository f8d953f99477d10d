"""Settings of the frontier."""

from infra.settings.group import Group


class FrontierSettings(Group):
    """What can be set about the frontier."""
