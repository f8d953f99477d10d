"""Settings of the fetchers."""

from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Literal

from pydantic import Field, field_validator

from infra.settings.group import Group
from infra.settings.headers import HeaderSettings
from infra.settings.proxies import ProxySettings

STORED_MEDIA_TYPES = (
    "text/html",
    "application/xhtml+xml",
    "text/plain",
    "text/xml",
    "application/xml",
    "application/*+xml",
    "application/json",
    "application/pdf",
)

# Ports of services that answer HTTP-like requests and must not get any: the rest of the ports that no crawler dials is
# in the Fetch Standard's list, which no URL passes.
SERVICE_PORTS = (
    2375,
    2376,
    2379,
    2380,
    3306,
    5432,
    5672,
    6379,
    6443,
    8123,
    9000,
    9092,
    9200,
    9300,
    10250,
    11211,
    27017,
)

METADATA_NAMES = ("metadata.google.internal", "metadata.goog", "metadata", "instance-data", "kubernetes.default.svc")


class MediaRule(Group):
    """What becomes of bodies of some media types."""

    types: tuple[str, ...] = Field(min_length=1)
    """``*`` stands for anything: ``image/*``."""
    keep: Literal["store", "head", "skip"] = "store"
    """``head``: a page with its header and no body; ``skip``: no page."""
    max_kib: int | None = Field(default=None, ge=1, le=64 * 1_024)
    """Of a body that is stored; ``None``: :attr:`FetcherSettings.max_body_kib`."""
    larger: Literal["cut", "head", "skip"] = "cut"
    """What becomes of one that is larger."""


class FetcherSettings(Group):
    """What can be set about the fetchers."""

    concurrency: int = Field(default=256, ge=1, le=20_000)
    """Requests taken and not finished, those that wait for their host's delay included."""
    host_concurrency: int = Field(default=1, ge=1, le=1_000)
    """Requests to one host at a time in this process; a second line behind the frontier's own rule."""
    drain: timedelta = Field(default=timedelta(seconds=20), ge=timedelta(0), le=timedelta(seconds=25))
    """How long a stop waits for requests under way; what is left is aborted and fetched again by another worker."""

    total_timeout: timedelta = Field(default=timedelta(seconds=60), gt=timedelta(0))
    head_timeout: timedelta = Field(default=timedelta(seconds=20), gt=timedelta(0))
    """From the start to the end of the response's header, name resolution and connecting included."""
    connect_timeout: timedelta = Field(default=timedelta(seconds=10), gt=timedelta(0))
    """For each address."""
    dns_timeout: timedelta = Field(default=timedelta(seconds=5), gt=timedelta(0))
    min_rate_bytes_s: int = Field(default=1_024, ge=1)
    """Slower bodies are cut, once :attr:`rate_grace` has passed."""
    rate_grace: timedelta = Field(default=timedelta(seconds=10), ge=timedelta(0))

    max_body_kib: int = Field(default=10 * 1_024, ge=1, le=64 * 1_024)
    """Of a body on the wire; longer ones are cut. What a record of ``pages`` cannot hold goes to the spool."""
    max_head_kib: int = Field(default=64, ge=1, le=256)
    media_types: tuple[str, ...] = STORED_MEDIA_TYPES
    """What is stored, ``*`` standing for anything; other types are skipped. What declares none is sniffed."""
    media: tuple[MediaRule, ...] = ()
    """Rules for some types, before :attr:`media_types`; the first that fits counts."""

    allow_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    """Networks that may be reached although they are not public: an intranet, or loopback in tests."""
    blocked_ports: frozenset[int] = frozenset(SERVICE_PORTS)
    blocked_names: frozenset[str] = frozenset(METADATA_NAMES)
    resolve: dict[str, str] = {}
    """Addresses of names before any DNS: exact names or ``*.suffix``; the address check still holds."""

    idle_connections: int = Field(default=100, ge=0)
    """The persistent tier: kept open for the next request to the same host; beyond it a connection is temporary, and
    closed after use."""
    connections_per_host: int = Field(default=10, ge=1)
    """Kept of one host."""
    keep_alive: timedelta = Field(default=timedelta(seconds=90), ge=timedelta(0))
    standby_connections: int = Field(default=32, ge=0, le=10_000)
    """The standby tier: hosts whose name or address is in trouble get a second resolver, every address and more time,
    so many at once; others in trouble fail at once, so that they hold nothing up."""
    first_connect_timeout: timedelta = Field(default=timedelta(seconds=3), gt=timedelta(0))
    """Of the first address, before the standby tier takes over; :attr:`connect_timeout` is for each address there."""

    dns_servers: tuple[str, ...] = ()
    """Addresses of name servers, with a port if need be; none means those of the system."""
    dns_lookups: int = Field(default=32, ge=1, le=1_000)
    """At a time by the second resolver, the system's."""
    dns_per_domain: int = Field(default=8, ge=1)
    """Names of one registrable domain that are looked up at a time: a slow domain delays only itself."""
    dns_cache: timedelta = timedelta(minutes=10)
    """An answer holds for its TTL, but no longer than this and no shorter than :attr:`dns_cache_shortest`."""
    dns_cache_shortest: timedelta = timedelta(seconds=5)
    dns_cache_size: int = Field(default=10_000, ge=1)
    dns_negative_cache: timedelta = timedelta(seconds=10)

    insecure_hosts: frozenset[str] = frozenset()
    """Hosts whose certificate is not checked, by name; every other's is."""

    proxies: ProxySettings = ProxySettings()
    headers: HeaderSettings = HeaderSettings()

    @field_validator("resolve")
    @classmethod
    def _are_addresses(cls, resolve: dict[str, str]) -> dict[str, str]:
        for address in resolve.values():
            ip_address(address)
        return {name.lower(): address for name, address in resolve.items()}
