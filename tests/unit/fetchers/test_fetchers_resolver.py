"""From names to addresses."""

import socket
import threading
from datetime import timedelta
from typing import Any

import pytest

from fetchers.resolver import Resolver, fixed_address
from infra.settings import FetcherSettings
from tests.unit.fetchers.raw_web import run


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("a.demo.test", "127.0.0.1"),
        ("b.a.demo.test", "127.0.0.1"),
        ("x.b.demo.test", "127.0.0.3"),
        ("exact.demo.test", "127.0.0.2"),
        ("demo.test", None),
        ("notdemo.test", None),
        ("example.com", None),
    ],
)
def test_the_fixed_table_comes_first(name: str, address: str | None) -> None:
    """An exact name, else the longest pattern; a pattern does not mean its own suffix."""
    table = {"*.demo.test": "127.0.0.1", "exact.demo.test": "127.0.0.2", "*.b.demo.test": "127.0.0.3"}
    assert fixed_address(table, name) == address


def test_a_failure_is_remembered_for_a_while() -> None:
    """A name that does not exist is not looked up again at once."""
    asked: list[str] = []

    def lookup(name: str, _port: int, _family: int) -> list[tuple[Any, ...]]:
        asked.append(name)
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    async def scenario() -> None:
        resolver = Resolver(FetcherSettings(), lookup)
        for _ in range(3):
            with pytest.raises(socket.gaierror):
                await resolver.resolve("gone.example", 80)

    run(scenario())
    assert asked == ["gone.example"]


def test_a_resolver_that_hangs_is_an_error_in_time() -> None:
    """The wait ends, as a DNS failure, though the lookup does not; the next name is served by another thread."""
    release = threading.Event()

    def lookup(name: str, port: int, _family: int) -> list[tuple[Any, ...]]:
        if name == "slow.example":
            release.wait(5)
        return [(socket.AF_INET, 1, 6, "", ("127.0.0.1", port))]

    async def scenario() -> None:
        resolver = Resolver(FetcherSettings(dns_timeout=timedelta(seconds=0.05), dns_lookups=2), lookup)
        with pytest.raises(socket.gaierror) as caught:
            await resolver.resolve("slow.example", 80)
        assert caught.value.errno == socket.EAI_AGAIN
        assert (await resolver.resolve("fast.example", 80))[0]["host"] == "127.0.0.1"

    run(scenario())
    release.set()
