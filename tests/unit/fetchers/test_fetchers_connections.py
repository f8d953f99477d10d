"""Three tiers of connections, and what becomes of names and addresses in trouble."""

import asyncio
import socket
from collections.abc import Sequence
from datetime import timedelta

import pytest

from fetchers.attempt import Attempt
from fetchers.dialler import in_turn
from fetchers.faults import DnsFault
from fetchers.resolver import Addresses, Lookup
from schemas.outcomes import Outcome
from tests.unit.fetchers.raw_web import fetching, request, run, sending, serving, settings

PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok"
NOBODY = "127.0.0.77"
"""Nothing listens there."""


def answering(*addresses: str) -> Lookup:
    """A DNS that gives every name these addresses."""

    async def lookup(_name: str) -> Addresses:
        return Addresses(addresses, timedelta(minutes=1))

    return lookup


async def broken(_name: str) -> Addresses:
    """A DNS that is down."""
    raise DnsFault("SERVFAIL")


def fetch(lookup: Lookup, second: Lookup | None = None, **fetchers: object) -> Attempt:
    """Fetch from a server on 127.0.0.1 by a name that ``lookup`` knows."""

    async def scenario() -> Attempt:
        async with serving(sending(PAGE)) as port, fetching(settings(**fetchers), lookup, second) as fetcher:
            return await fetcher.fetch(request(f"http://a.example:{port}/"))

    return run(scenario())


def test_a_host_with_one_dead_address_is_reached_on_standby() -> None:
    """The next address takes over; where the standby tier is full, the host fails at once instead of waiting."""
    attempt = fetch(answering(NOBODY, "127.0.0.1"))
    assert (attempt.outcome, attempt.remote_address) == (Outcome.OK, "127.0.0.1")
    assert fetch(answering(NOBODY, "127.0.0.1"), standby_connections=0).outcome is Outcome.CONNECT_ERROR
    assert fetch(answering(NOBODY)).outcome is Outcome.CONNECT_ERROR


def test_a_name_that_dns_fails_on_is_asked_of_the_second_resolver() -> None:
    """And what that one says is checked as well."""
    assert fetch(broken, answering("127.0.0.1")).outcome is Outcome.OK
    assert fetch(broken, answering("10.0.0.1")).outcome is Outcome.BLOCKED_ADDRESS
    assert fetch(broken, broken).outcome is Outcome.DNS_ERROR
    assert fetch(broken, answering("127.0.0.1"), standby_connections=0).outcome is Outcome.DNS_ERROR


def test_an_address_that_does_not_answer_is_given_up_for_the_next() -> None:
    """Its time is the first address's, not the whole request's."""
    with socket.socket() as full:
        # A queue that is full: what comes later gets no answer at all.
        full.bind(("127.0.0.78", 0))
        full.listen(0)
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(3)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(("127.0.0.78", port))

        async def scenario() -> Attempt:
            impatient = settings(first_connect_timeout=timedelta(seconds=0.1))
            server = await asyncio.start_server(lambda _r, w: w.write(PAGE), "127.0.0.1", port)
            async with fetching(impatient, answering("127.0.0.78", "127.0.0.1")) as fetcher:
                attempt = await fetcher.fetch(request(f"http://a.example:{port}/"))
            server.close()
            return attempt

        attempt = run(scenario())
        for each in waiting:
            each.close()
    assert (attempt.outcome, attempt.remote_address) == (Outcome.OK, "127.0.0.1")


def test_a_kept_connection_that_the_server_closed_costs_no_failure() -> None:
    """The request was never seen: it is sent again on a new connection, once."""
    connections = 0

    async def handle(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        writer.write(PAGE)
        # The next request is read and answered by a close.
        await reader.readuntil(b"\r\n\r\n")

    async def scenario() -> list[Outcome]:
        async with serving(handle) as port, fetching(settings()) as fetcher:
            return [(await fetcher.fetch(request(f"http://127.0.0.1:{port}/"))).outcome for _ in range(3)]

    assert run(scenario()) == [Outcome.OK] * 3
    assert connections == 3


def test_what_waits_too_long_is_closed() -> None:
    """A connection is kept for as long as the setting says."""

    async def handle(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head:
            writer.write(PAGE)
            head = await reader.readuntil(b"\r\n\r\n")

    async def scenario(keep: timedelta) -> list[bool]:
        async with serving(handle) as port, fetching(settings(keep_alive=keep)) as fetcher:
            attempts = [await fetcher.fetch(request(f"http://127.0.0.1:{port}/")) for _ in range(2)]
            return [attempt.connect_ms is None for attempt in attempts]

    assert run(scenario(timedelta(seconds=90))) == [False, True]
    assert run(scenario(timedelta(0))) == [False, False]


@pytest.mark.parametrize(
    ("addresses", "ordered"),
    [
        (["192.0.2.1", "2001:db8::1"], ["192.0.2.1", "2001:db8::1"]),
        (["::1", "::2", "a", "b", "c"], ["::1", "a", "::2", "b", "c"]),
        (["a", "b", "::1"], ["a", "::1", "b"]),
        ([], []),
    ],
)
def test_families_take_turns(addresses: Sequence[str], ordered: list[str]) -> None:
    """The one that the resolver prefers begins, no address is lost (RFC 8305, 4)."""
    assert in_turn(addresses) == ordered
