"""Settings of the proxies that the fetchers may go through."""

from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Literal

from pydantic import Field

from infra.settings.group import Group


class ProxySettings(Group):
    """A pool of proxies. Without any, every request is direct; with some, none is unless it says so here."""

    tiers: tuple[tuple[str, ...], ...] = Field(default=(), repr=False)
    """URLs (``http``, ``https`` or ``socks5``, with user info if need be), tier by tier: a tier is used while none of
    those before it has a healthy proxy."""
    file: Path | None = None
    """More of them, a URL a line, tiers parted by blank lines; read again when it changes. `odradek proxies` sets
    the same for all fetchers at once, through the control topic."""
    strategy: Literal["sticky", "random", "round_robin", "least_used"] = "sticky"
    """Which proxy of a tier; ``sticky`` gives a host the same one while it is healthy."""
    without: Literal["wait", "direct"] = "wait"
    """When no proxy is healthy: fail and try later, or go without one."""
    hosts: dict[str, tuple[str, ...]] = Field(default={}, repr=False)
    """Proxies by name or ``*.suffix`` that serve these hosts alone, which use no others."""
    direct_hosts: frozenset[str] = frozenset()
    """Names, or ``*.suffix``, that are always reached without a proxy."""
    resolves: bool = False
    """Whether a proxy gets names and is trusted to refuse private addresses; otherwise names are looked up and checked
    here, and it gets an address."""
    allow_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    """Where proxies themselves may be, although these networks are not public."""
    failures: int = Field(default=3, ge=1)
    """In a row, before a proxy rests; of what may be a host's fault as well, each of another host."""
    cool_down: timedelta = Field(default=timedelta(seconds=30), gt=timedelta(0))
    """The first rest; doubled while it goes on failing, up to :attr:`longest_cool_down`."""
    longest_cool_down: timedelta = timedelta(minutes=30)
    per_proxy: int = Field(default=64, ge=1)
    """Connections through one proxy at a time."""
    tries: int = Field(default=3, ge=1, le=20)
    """Proxies that one request may try, as long as none of them has taken it to its host."""
    probe_interval: timedelta = Field(default=timedelta(seconds=30), ge=timedelta(0))
    """How often each proxy is asked for a connection, so that a dead one is known before it costs a request and one
    that is back is used before its rest is over; 0 never asks."""
