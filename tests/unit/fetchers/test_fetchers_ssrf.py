"""No spelling of a URL, and no DNS answer, leads a fetcher to an address that it must not reach."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from fetchers.attempt import Attempt
from fetchers.resolver import Addresses, Lookup
from infra.settings import FetcherSettings, Settings
from schemas.outcomes import Outcome
from schemas.url import InvalidUrl, canonicalize
from tests.unit.fetchers.raw_web import canonical, fetching, request, run, sending, serving, settings

PUBLIC = ("8.8.8.8", "2606:4700::1111")


def answering(*addresses: str) -> Lookup:
    """A DNS that gives every name these addresses."""

    async def lookup(_name: str) -> Addresses:
        return Addresses(addresses, timedelta(seconds=60))

    return lookup


def fetch(url: str, lookup: Lookup, configured: Settings | None = None) -> Attempt:
    """Try a URL with the default settings, under which nothing local may be reached."""
    quick = FetcherSettings(connect_timeout="PT0.05S", head_timeout="PT0.1S")  # type: ignore[arg-type]

    async def scenario() -> Attempt:
        async with fetching(configured or Settings(fetchers=quick), lookup) as fetcher:
            return await fetcher.fetch(canonical(url))

    return run(scenario())


def rows(cases: Path) -> list[dict[str, Any]]:
    """The standard cases."""
    return [json.loads(line) for line in (cases / "ssrf_urls.jsonl").read_text().splitlines()]


def test_every_case_is_blocked_allowed_or_no_url(cases: Path) -> None:
    """Each standard case ends as it should: rejected as a URL, blocked when dialled, or dialled."""
    for row in rows(cases):
        url, action = row["input"]["url"], row["expected"]["action"]
        try:
            canonicalize(url)
        except InvalidUrl:
            assert action.startswith("reject"), url
            continue
        if "example.com" in action or "@example.com" in url:
            assert canonicalize(url).name == "example.com", url
        elif action == "allow":
            # Whether these can be reached from here does not matter: they were dialled.
            assert fetch(url, answering("127.0.0.1")).outcome is not Outcome.BLOCKED_ADDRESS, url
        else:
            assert fetch(url, answering("127.0.0.1")).outcome is Outcome.BLOCKED_ADDRESS, url


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "::1", "fe80::1", "169.254.169.254", "::ffff:10.0.0.1"])
def test_a_name_that_leads_inside_is_blocked(address: str) -> None:
    """What counts is the address that is dialled, whatever the name looks like."""
    attempt = fetch("http://innocent.example/", answering(address))
    assert attempt.outcome is Outcome.BLOCKED_ADDRESS
    assert attempt.remote_address is None


def test_of_several_addresses_only_the_public_are_dialled() -> None:
    """A name with a public and a private address reaches the public one or nothing."""
    attempt = fetch("http://mixed.example/", answering("10.0.0.1", "192.0.2.1"))
    assert attempt.outcome is Outcome.BLOCKED_ADDRESS

    async def scenario() -> Attempt:
        empty = sending(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        async with serving(empty) as port, fetching(settings(), answering("10.0.0.1", "127.0.0.1")) as fetcher:
            return await fetcher.fetch(request(f"http://mixed.example:{port}/"))

    attempt = run(scenario())
    assert (attempt.outcome, attempt.remote_address) == (Outcome.OK, "127.0.0.1")


def test_an_answer_that_changes_between_two_requests_is_judged_each_time() -> None:
    """DNS rebinding gains nothing: every connection is checked where it is dialled."""
    answers = iter(["127.0.0.1", "10.0.0.1"])

    async def lookup(name: str) -> Addresses:
        return await answering(next(answers))(name)

    async def scenario() -> list[Outcome]:
        async with serving(sending(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")) as port:
            configured = settings(dns_cache="PT0S")
            async with fetching(configured, lookup) as fetcher:
                return [(await fetcher.fetch(request(f"http://rebind.example:{port}/"))).outcome for _ in range(2)]

    assert run(scenario()) == [Outcome.OK, Outcome.BLOCKED_ADDRESS]


@pytest.mark.parametrize(
    "url", ["http://example.com:6379/", "http://example.com:9092/", "http://metadata.google.internal/"]
)
def test_ports_and_names_of_services_are_not_dialled(url: str) -> None:
    """Ports and names on the block lists are refused before any lookup."""

    async def lookup(_name: str) -> Addresses:
        raise AssertionError

    assert fetch(url, lookup).outcome is Outcome.BLOCKED_ADDRESS


@pytest.mark.parametrize(
    "href", ["file:///etc/passwd", "http://EXAMPLE.com/", "http://0x7f.1/", "http://a@b.example/", ""]
)
def test_what_is_not_canonical_is_not_requested(href: str) -> None:
    """A record with a URL that no stage of ours writes is refused, not parsed a second way."""

    async def scenario() -> Attempt:
        async with fetching(settings()) as fetcher:
            return await fetcher.fetch(request(href))

    assert run(scenario()).outcome is Outcome.BLOCKED_ADDRESS
