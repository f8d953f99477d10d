"""Which addresses must never be dialled."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fetchers.addresses import refusal

SPECIAL_V4 = (
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"),
    *("192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"),
)
SPECIAL_V6 = (
    *("::/64", "100::/64", "2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"),
    *("64:ff9b:1::/48", "2001::/32", "2001:10::/28", "2001:20::/28"),
)


def inside(networks: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Addresses of the networks."""
    kind = IPv6Network if ":" in networks[0] else IPv4Network

    def address(network: IPv4Network | IPv6Network) -> st.SearchStrategy[str]:
        return st.integers(0, network.num_addresses - 1).map(lambda number: str(network[number]))

    return st.sampled_from([kind(each) for each in networks]).flatmap(address)


def wrapped(address: str) -> list[str]:
    """The ways in which IPv6 carries an IPv4 address."""
    number = int(IPv4Address(address))
    prefixes = (0xFFFF << 32, 0, 0x64FF9B << 96, 0x64FF9B0001 << 80)
    teredo = (0x20010000 << 96) | (number ^ 0xFFFFFFFF)
    sixtofour = (0x2002 << 112) | (number << 80)
    return [str(IPv6Address(value)) for value in (*(prefix | number for prefix in prefixes), teredo, sixtofour)]


@given(inside(SPECIAL_V4))
def test_special_addresses_are_refused_however_they_are_wrapped(address: str) -> None:
    """No special-purpose IPv4 address passes, bare or inside any IPv6 form."""
    assert all(refusal(each) for each in [address, *wrapped(address)])


@given(inside(SPECIAL_V6))
def test_special_ipv6_addresses_are_refused(address: str) -> None:
    """No special-purpose IPv6 address passes, nor with a zone id."""
    assert refusal(address)
    assert refusal(f"{address}%eth0")


@given(st.text(max_size=40))
def test_nothing_makes_it_raise(text: str) -> None:
    """What is no address is refused."""
    assert refusal(text) is None or isinstance(refusal(text), str)


@pytest.mark.parametrize(
    "address",
    ["168.63.129.16", "100.100.100.200", "169.254.169.254", "fd00:ec2::254", "192.0.0.192", "::ffff:168.63.129.16"],
)
def test_metadata_services_are_refused(address: str) -> None:
    """The addresses where clouds hand out credentials are never dialled."""
    assert refusal(address)


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"],
)
def test_public_addresses_pass(address: str) -> None:
    """Public addresses may be dialled."""
    assert refusal(address) is None


def test_an_allowed_network_opens_itself_alone() -> None:
    """What is allowed passes, mapped too; its neighbours stay refused."""
    allowed = (IPv4Network("127.0.0.0/8"), IPv6Network("fd12::/16"))
    assert refusal("127.9.9.9", allowed) is None
    assert refusal("::ffff:127.0.0.1", allowed) is None
    assert refusal("fd12::1", allowed) is None
    assert refusal("10.0.0.1", allowed)
    assert refusal("::1", allowed)
    assert refusal("fd13::1", allowed)
