"""From names to addresses: cached, bounded, and no name waits for another's."""

import asyncio
from datetime import timedelta

import pytest

from fetchers.faults import DnsFault, NoSuchHost
from fetchers.resolver import Addresses, Resolver
from infra.settings import FetcherSettings
from schemas.names import of_name
from tests.unit.fetchers.raw_web import run

MINUTE = timedelta(minutes=1)


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
    assert of_name(table, name) == address


class Names:
    """A DNS that counts what it is asked."""

    def __init__(self, ttl: timedelta = MINUTE) -> None:
        self.asked: list[str] = []
        self.ttl = ttl
        self.released = asyncio.Event()

    async def __call__(self, name: str) -> Addresses:
        self.asked.append(name)
        if name.endswith("slow.example"):
            await self.released.wait()
        if name == "gone.example":
            raise NoSuchHost("no such name")
        return Addresses(("192.0.2.1",), self.ttl)


def test_a_failure_is_remembered_for_a_while() -> None:
    """A name that does not exist is not looked up again at once."""

    async def scenario() -> list[str]:
        names = Names()
        resolver = Resolver(FetcherSettings(), names)
        for _ in range(3):
            with pytest.raises(NoSuchHost):
                await resolver.resolve("gone.example")
        return names.asked

    assert run(scenario()) == ["gone.example"]


def test_an_answer_holds_for_its_ttl_within_the_settings_bounds() -> None:
    """A TTL of nothing is raised to the shortest, a long one cut to the longest; what has passed is asked again."""

    async def asked_for(ttl: timedelta, shortest: timedelta, longest: timedelta) -> int:
        names = Names(ttl)
        resolver = Resolver(FetcherSettings(dns_cache_shortest=shortest, dns_cache=longest), names)
        for _ in range(3):
            await resolver.resolve("a.example")
            await asyncio.sleep(0.02)
        return len(names.asked)

    nothing, moment = timedelta(0), timedelta(milliseconds=10)
    assert run(asked_for(nothing, MINUTE, MINUTE)) == 1
    assert run(asked_for(nothing, nothing, MINUTE)) == 3
    assert run(asked_for(MINUTE, nothing, moment)) == 3
    assert run(asked_for(moment, nothing, MINUTE)) == 3
    assert run(asked_for(MINUTE, nothing, MINUTE)) == 1


def test_the_cache_is_bounded() -> None:
    """The name that was used longest ago goes first."""

    async def scenario() -> list[str]:
        names = Names()
        resolver = Resolver(FetcherSettings(dns_cache_size=2), names)
        for name in ("a.example", "b.example", "a.example", "c.example", "a.example", "b.example"):
            await resolver.resolve(name)
        return names.asked

    assert run(scenario()) == ["a.example", "b.example", "c.example", "b.example"]


def test_equal_questions_are_asked_once_and_giving_up_takes_the_answer_from_nobody() -> None:
    """Whoever is cancelled leaves the others waiting for the same answer."""

    async def scenario() -> list[str]:
        names = Names()
        resolver = Resolver(FetcherSettings(), names)
        first, second = (asyncio.create_task(resolver.resolve("slow.example")) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        names.released.set()
        assert await second == ("192.0.2.1",)
        return names.asked

    assert run(scenario()) == ["slow.example"]


def test_a_slow_domain_delays_only_itself() -> None:
    """However many of its names are asked for: another domain is answered, the slow ones fail in time."""

    async def scenario() -> None:
        names = Names()
        resolver = Resolver(FetcherSettings(dns_timeout=timedelta(seconds=0.1), dns_per_domain=3), names)
        slow = [asyncio.create_task(resolver.resolve(f"h{number}.slow.example")) for number in range(50)]
        await asyncio.sleep(0)
        assert await resolver.resolve("fast.example") == ("192.0.2.1",)
        assert len(names.asked) == 4
        for error in await asyncio.gather(*slow, return_exceptions=True):
            assert isinstance(error, DnsFault)
        await resolver.close()

    run(scenario())
