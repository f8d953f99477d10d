"""Which addresses must never be dialled. Pure.

By the IANA special-purpose address registries (RFC 6890 and its updates), not by the standard library's ``is_global``,
which lets NAT64, 6to4, site-local and multicast addresses pass. An IPv6 address that carries an IPv4 address is judged
by what it carries.
"""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Literal

Network = IPv4Network | IPv6Network
Refusal = Literal["malformed", "special_purpose", "multicast", "cloud_metadata", "tunnel"]

_SPECIAL_V4 = tuple(
    map(
        IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
            *("198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4"),
        ),
    )
)
_MULTICAST_V4 = IPv4Network("224.0.0.0/4")
# Azure's wire server has a public address; those of the other clouds lie in special-purpose blocks already.
_METADATA_V4 = IPv4Address("168.63.129.16")

# Everything outside global unicast is special: loopback, unspecified, unique local, link-local, site-local, discard.
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_SPECIAL_V6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))
_MULTICAST_V6 = IPv6Network("ff00::/8")
_NAT64 = IPv6Network("64:ff9b::/96")
_TEREDO = IPv6Network("2001::/32")
_NO_NETWORKS: tuple[Network, ...] = ()


def refusal(address: str, allowed: Sequence[Network] = _NO_NETWORKS) -> Refusal | None:
    """Why ``address``, as a socket takes it, must not be dialled; ``None`` when it may.

    Networks in ``allowed`` may be reached whatever the registries say; mapped IPv4 addresses count as IPv4.
    """
    try:
        # A zone id chooses an interface, not another address.
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return "malformed"
    return _refusal(parsed, allowed)


def _refusal(address: IPv4Address | IPv6Address, allowed: Sequence[Network]) -> Refusal | None:
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if any(address.version == network.version and address in network for network in allowed):
        return None
    return _refusal_v4(address) if isinstance(address, IPv4Address) else _refusal_v6(address, allowed)


def _refusal_v4(address: IPv4Address) -> Refusal | None:
    if address == _METADATA_V4:
        return "cloud_metadata"
    if address in _MULTICAST_V4:
        return "multicast"
    return "special_purpose" if any(address in network for network in _SPECIAL_V4) else None


def _refusal_v6(address: IPv6Address, allowed: Sequence[Network]) -> Refusal | None:
    if address in _NAT64:
        return _refusal(IPv4Address(int(address) & 0xFFFF_FFFF), allowed)
    if address.sixtofour is not None:
        return _refusal(address.sixtofour, allowed)
    if address in _TEREDO:
        return "tunnel"
    if address in _MULTICAST_V6:
        return "multicast"
    if address not in _GLOBAL_UNICAST or any(address in network for network in _SPECIAL_V6):
        return "special_purpose"
    return None
