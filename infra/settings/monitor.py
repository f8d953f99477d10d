"""Settings of the monitor."""

from datetime import timedelta
from pathlib import Path

from pydantic import Field, SecretStr

from infra.settings.group import Group


class MonitorSettings(Group):
    """What the monitor looks at, how often, and who may ask it."""

    address: str = "127.0.0.1"
    """Where the page and the API are served. Anything but loopback needs a token that is set."""
    port: int = Field(default=0, ge=0, le=65_535)
    """0 takes a free one, which ``monitor.endpoint`` in the data directory names."""
    token: SecretStr | None = Field(default=None, repr=False)
    """What callers have to show to change anything, and to read anything where the address is not loopback; without one
    the monitor makes one up for itself and writes it into ``monitor.endpoint``."""
    token_file: Path | None = None
    """A file that holds the token, such as a mounted secret; read when the monitor starts."""
    hosts_allowed: list[str] = Field(default=[])
    """Names under which browsers may ask for the page, such as that of an ingress; loopback is always allowed."""
    look_every: timedelta = Field(default=timedelta(seconds=2), gt=timedelta(0))
    """Between two looks at offsets, heartbeats and metrics."""
    history: timedelta = timedelta(minutes=30)
    """How far back the graphs of the page go."""
    late_after: timedelta = timedelta(seconds=30)
    """After which silence a worker is shown as late."""
    gone_after: timedelta = timedelta(seconds=90)
    """After which silence a worker is shown no more. Its partitions go to others after ``kafka.session_timeout``."""
    hosts: int = Field(default=100_000, ge=100, le=10_000_000)
    """Hosts of which figures are kept; those not heard of longest are forgotten first."""
