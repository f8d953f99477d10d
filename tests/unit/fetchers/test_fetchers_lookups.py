"""DNS over the wire, against a small name server of our own."""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from fetchers.faults import DnsFault, NoSuchHost
from fetchers.lookups import Dns, SystemLookup
from tests.unit.fetchers.raw_web import run

NXDOMAIN, SERVFAIL = 3, 2


class NameServer(asyncio.DatagramProtocol):
    """Answers A for ``*.example`` by the first label: an address with a TTL, a failure, or nothing."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        labels, at = [], 12
        while length := data[at]:
            labels.append(data[at + 1 : at + 1 + length])
            at += 1 + length
        question = data[12 : at + 5]
        kind = int.from_bytes(data[at + 1 : at + 3], "big")
        name = labels[0].lower()
        self.asked.append(name)
        if name == b"silent":
            return
        code = {b"gone": NXDOMAIN, b"broken": SERVFAIL}.get(name, 0)
        found = b""
        if not code and kind == 1:
            found = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 7, 4) + bytes([192, 0, 2, 1])
        head = data[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, 1 if found else 0, 0, 0)
        self.transport.sendto(head + question + found, addr)  # type: ignore[attr-defined]


@contextlib.asynccontextmanager
async def name_server() -> AsyncIterator[Dns]:
    """A lookup that asks it."""
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(NameServer, ("127.0.0.1", 0))
    port = transport.get_extra_info("sockname")[1]
    dns = Dns([f"127.0.0.1:{port}"], tries=1, timeout=timedelta(seconds=0.2))
    try:
        yield dns
    finally:
        dns.close()
        transport.close()


def test_an_answer_comes_with_its_ttl() -> None:
    """Addresses and how long they hold, as the name server says."""

    async def scenario() -> None:
        async with name_server() as dns:
            answer = await dns("www.example")
            assert (answer.found, answer.ttl) == (("192.0.2.1",), timedelta(seconds=7))

    run(scenario())


@pytest.mark.parametrize(("name", "fault"), [("gone", NoSuchHost), ("broken", DnsFault), ("silent", DnsFault)])
def test_each_failure_has_its_fault(name: str, fault: type[Exception]) -> None:
    """No such name is one thing, no answer another."""

    async def scenario() -> None:
        async with name_server() as dns:
            with pytest.raises(fault):
                await dns(f"{name}.example")

    run(scenario())


def test_a_silent_name_delays_no_other() -> None:
    """Names are asked beside each other, without a thread for each."""

    async def scenario() -> None:
        async with name_server() as dns:
            silent = [asyncio.create_task(dns(f"silent.h{number}.example")) for number in range(100)]
            await asyncio.sleep(0)
            assert (await dns("www.example")).found == ("192.0.2.1",)
            assert not any(task.done() for task in silent)
            await asyncio.gather(*silent, return_exceptions=True)

    run(scenario())


def test_the_system_is_asked_in_threads() -> None:
    """``localhost`` is known everywhere; an impossible name is none."""

    async def scenario() -> None:
        system = SystemLookup(2)
        assert (await system("localhost")).found
        for name in ("no-such-host.invalid", "x" * 64 + ".invalid"):
            with pytest.raises((NoSuchHost, DnsFault)):
                await system(name)

    run(scenario())
