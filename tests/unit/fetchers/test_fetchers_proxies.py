"""Proxies: which one, when not, what it may not do; against real ones on loopback that work, fail, recover and lie."""

import contextlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from fetchers.attempt import Attempt
from fetchers.dialler import Dial, Place
from fetchers.faults import ConnectFault, ProxyFault
from fetchers.proxies import Proxy, ProxyPool, parse_proxy, parse_tiers
from infra.settings.proxies import ProxySettings
from schemas.outcomes import CONSEQUENCES, HostEffect, Outcome, Retry
from tests.unit.fetchers.raw_proxy import Mode, RawProxy, proxying
from tests.unit.fetchers.raw_web import fetching, request, run, sending, serving, settings

PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok"
SECRET = ("me", "s3cret")


def through(proxies: list[RawProxy], **wanted: Any) -> Any:
    """Settings that use these proxies, each a tier of its own."""
    changes: dict[str, Any] = {"tiers": [[each.url] for each in proxies], "probe_interval": "PT0S", "failures": 1}
    return settings(proxies=ProxySettings(**(changes | wanted)), head_timeout=timedelta(seconds=0.5))


def fetch(proxies: list[RawProxy], times: int = 1, host: str = "a.raw.test", **wanted: Any) -> list[Attempt]:
    """Fetch so many times from a server, by its name, through these proxies."""

    async def scenario() -> list[Attempt]:
        async with contextlib.AsyncExitStack() as stack:
            for each in proxies:
                await stack.enter_async_context(proxying(each))
            port = await stack.enter_async_context(serving(sending(PAGE)))
            fetcher = await stack.enter_async_context(fetching(through(proxies, **wanted)))
            return [await fetcher.fetch(request(f"http://{host}:{port}/")) for _ in range(times)]

    return run(scenario())


@pytest.mark.parametrize("scheme", ["http", "socks5"])
def test_a_page_comes_through_a_proxy(scheme: str) -> None:
    """The proxy gets our credentials and an address that was judged here; the fetch names it without them."""
    proxy = RawProxy(scheme, secret=SECRET)
    (attempt,) = fetch([proxy])
    assert (attempt.outcome, attempt.body) == (Outcome.OK, b"ok")
    assert proxy.asked[0].startswith("127.0.0.1:")
    assert proxy.seen_secrets
    assert attempt.proxy == f"{scheme}://127.0.0.1:{proxy.port}"


@pytest.mark.parametrize("scheme", ["http", "socks5"])
def test_a_proxy_gets_names_only_where_it_is_trusted_with_them(scheme: str) -> None:
    """Then it has to judge them; addresses in URLs are judged here all the same."""
    proxy = RawProxy(scheme, names={"a.raw.test": "127.0.0.1"})
    (attempt,) = fetch([proxy], resolves=True)
    assert attempt.outcome is Outcome.OK
    assert proxy.asked[0].startswith("a.raw.test:")
    (attempt,) = fetch([RawProxy(scheme)], host="10.0.0.1", resolves=True)
    assert attempt.outcome is Outcome.BLOCKED_ADDRESS


@pytest.mark.parametrize("scheme", ["http", "socks5"])
@pytest.mark.parametrize(("mode", "first"), [("closes", "ok"), ("refuses", "ok"), ("silent", "proxy_error")])
def test_the_next_tier_takes_over(scheme: str, mode: Mode, first: str) -> None:
    """At once where the first has not taken the request and time is left; from then on it is used alone."""
    bad, good = RawProxy(scheme, mode), RawProxy(scheme)
    attempts = fetch([bad, good], times=2)
    assert [attempt.outcome for attempt in attempts] == [Outcome(first), Outcome.OK]
    assert attempts[1].proxy == f"{scheme}://127.0.0.1:{good.port}"


def test_a_proxy_error_is_nobodys_attempt() -> None:
    """Neither the host nor the URL is to blame for an outage."""
    assert CONSEQUENCES[Outcome.PROXY_ERROR] == (Retry.UNCOUNTED, HostEffect.NONE)


def test_a_request_tries_only_so_many_proxies() -> None:
    """And none of them twice."""
    proxies = [RawProxy("http", "closes") for _ in range(4)]
    (attempt,) = fetch(proxies, tries=3, failures=9)
    assert attempt.outcome is Outcome.PROXY_ERROR
    assert [proxy.connections for proxy in proxies] == [1, 1, 1, 0]


def test_what_a_proxy_has_taken_is_not_sent_again() -> None:
    """A connection that ends after the request was sent may have brought it to its host: one attempt is one request."""
    proxies = [RawProxy("http", "drops"), RawProxy("http")]
    (attempt,) = fetch(proxies)
    assert attempt.outcome is Outcome.DISCONNECT
    assert proxies[1].connections == 0


@pytest.mark.parametrize(("scheme", "mode"), [("http", "unreachable"), ("socks5", "unreachable")])
def test_a_dead_place_is_not_held_against_its_proxies(scheme: str, mode: Mode) -> None:
    """However often it is asked for, they stay fit for others."""

    async def scenario() -> tuple[set[Outcome], int]:
        proxy = RawProxy(scheme, mode)
        async with proxying(proxy), fetching(through([proxy])) as fetcher:
            outcomes = {(await fetcher.fetch(request("http://dead.raw.test/"))).outcome for _ in range(5)}
            return outcomes, fetcher._connections.counts()["proxies_healthy"]

    assert run(scenario()) == ({Outcome.CONNECT_ERROR}, 1)


def test_hosts_may_have_proxies_of_their_own() -> None:
    """By name or suffix: they use no others, and others do not use theirs."""

    async def scenario() -> list[str | None]:
        own, general = RawProxy("http"), RawProxy("socks5")
        async with serving(sending(PAGE)) as port, proxying(own), proxying(general):
            configured = through([general], hosts={"*.OWN.raw.test": [own.url], "lost.raw.test": []})
            async with fetching(configured) as fetcher:
                names = ("a.own.raw.test", "other.raw.test", "lost.raw.test")
                attempts = [await fetcher.fetch(request(f"http://{name}:{port}/")) for name in names]
                assert attempts[2].outcome is Outcome.PROXY_ERROR
                return [(attempt.proxy or "").partition(":")[0] for attempt in attempts]

    assert run(scenario()) == ["http", "socks5", ""]


def test_proxies_may_be_told_while_it_runs() -> None:
    """As the control topic does: set, replaced, broken (which changes nothing), taken back; none is not direct."""

    async def scenario() -> list[tuple[Outcome, str]]:
        first, second = RawProxy("http"), RawProxy("socks5")
        told: list[str | None] = [None]
        async with serving(sending(PAGE)) as port, proxying(first), proxying(second):
            configured = settings(head_timeout=timedelta(seconds=0.3))
            async with fetching(configured, proxies=lambda: told[0]) as fetcher:
                seen = []
                for text in (None, first.url, second.url, "gopher://x", "# none", None):
                    told[0] = text
                    attempt = await fetcher.fetch(request(f"http://a.raw.test:{port}/"))
                    seen.append((attempt.outcome, (attempt.proxy or "").partition(":")[0]))
                return seen

    assert run(scenario()) == [
        (Outcome.OK, ""),
        (Outcome.OK, "http"),
        (Outcome.OK, "socks5"),
        (Outcome.OK, "socks5"),
        (Outcome.PROXY_ERROR, ""),
        (Outcome.OK, ""),
    ]


@pytest.mark.parametrize("scheme", ["http", "socks5"])
def test_a_proxy_that_answers_before_it_is_asked_lies(scheme: str) -> None:
    """What it said must not pass for the page of the host."""
    (attempt,) = fetch([RawProxy(scheme, "lies")])
    assert (attempt.outcome, attempt.body) == (Outcome.PROXY_ERROR, b"")


def test_a_place_that_a_proxy_cannot_reach_is_the_places_fault() -> None:
    """SOCKS says so by its reply."""

    async def scenario() -> Attempt:
        async with proxying(RawProxy("socks5")) as proxy, fetching(through([proxy])) as fetcher:
            routes = fetcher._connections._routes
            with pytest.raises(ConnectFault, match="refused"):
                await routes.connect(parse_proxy(proxy.url), Place("127.0.0.1", 1), 1.0, Dial())
            return await fetcher.fetch(request("http://10.0.0.1/"))

    assert run(scenario()).outcome is Outcome.BLOCKED_ADDRESS


def test_nothing_is_ever_fetched_directly_without_leave() -> None:
    """With every proxy down a request waits, then fails; only the policy or a rule for the host lets it go direct."""
    down = RawProxy("http", "closes")
    assert [each.outcome for each in fetch([down], times=2)] == [Outcome.PROXY_ERROR] * 2
    attempts = fetch([RawProxy("http", "closes")], times=2, without="direct")
    assert [(each.outcome, each.proxy) for each in attempts] == [(Outcome.OK, None)] * 2
    (attempt,) = fetch([RawProxy("http", "closes")], direct_hosts={"*.raw.test"})
    assert (attempt.outcome, attempt.proxy) == (Outcome.OK, None)


def test_a_proxy_that_recovers_is_used_again() -> None:
    """After its rest, or as soon as a probe finds it taking connections."""

    async def scenario(**wanted: Any) -> list[Outcome]:
        proxy = RawProxy("http", "closes")
        async with serving(sending(PAGE)) as port, proxying(proxy), fetching(through([proxy], **wanted)) as fetcher:
            url = request(f"http://a.raw.test:{port}/")
            first = await fetcher.fetch(url)
            proxy.mode = "works"
            return [first.outcome, (await fetcher.fetch(url)).outcome]

    recovered = [Outcome.PROXY_ERROR, Outcome.OK]
    assert run(scenario(cool_down="PT0.1S")) == recovered
    assert run(scenario(cool_down="PT1H", probe_interval="PT0.05S")) == recovered
    assert run(scenario(cool_down="PT1H")) == [Outcome.PROXY_ERROR] * 2


def test_the_file_is_read_again_and_a_broken_one_changes_nothing(tmp_path: Path) -> None:
    """A pool from an empty file is a pool without proxies, not a direct connection."""
    file = tmp_path / "proxies"
    file.write_text("# none yet\n")

    async def scenario(change: str) -> list[Outcome]:
        wanted = through([], tiers=(), file=file)
        async with serving(sending(PAGE)) as port, fetching(wanted) as fetcher:
            url = request(f"http://a.raw.test:{port}/")
            before = (await fetcher.fetch(url)).outcome
            file.write_text(change)
            fetcher._connections._routes._looked_s = 0.0
            return [before, (await fetcher.fetch(url)).outcome]

    async def with_proxy() -> None:
        async with proxying(RawProxy("http")) as proxy:
            outcomes = await scenario(f"{proxy.url}\n")
            assert outcomes == [Outcome.PROXY_ERROR, Outcome.OK]
            outcomes = await scenario("gopher://u:p@x\n")
            assert outcomes == [Outcome.OK, Outcome.OK]

    run(with_proxy())


def test_no_credentials_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Not in a log, not in the settings' text, not in an error."""
    proxy = RawProxy("http", "closes", secret=SECRET)
    (attempt,) = fetch([proxy])
    said = capsys.readouterr().out + str(attempt) + repr(parse_proxy("http://me:s3cret@p.test")) + str(through([proxy]))
    assert "proxy failed" in said
    assert "s3cret" not in said
    with pytest.raises(ValueError, match="proxy") as caught:
        parse_proxy("ftp://me:s3cret@p.test")
    assert "s3cret" not in str(caught.value)


def pool(strategy: str, count: int = 4, **wanted: Any) -> tuple[ProxyPool, list[Proxy]]:
    """A pool of one tier."""
    proxies = [Proxy("http", f"p{number}.test", 80) for number in range(count)]
    return ProxyPool(ProxySettings(strategy=strategy, **wanted), [proxies]), proxies  # type: ignore[arg-type]


def test_each_strategy_spreads_in_its_way() -> None:
    """In turn, by use, by host, by chance; a proxy that is full is passed over."""
    turns, proxies = pool("round_robin")
    assert {turns.choose("h", 0.0) for _ in proxies} == set(proxies)
    least, proxies = pool("least_used", per_proxy=2)
    for _ in range(2 * len(proxies)):
        chosen = least.choose("h", 0.0)
        assert chosen is not None
        least.begin(chosen)
    with pytest.raises(ProxyFault):
        least.choose("h", 0.0)
    least.end(proxies[2])
    assert least.choose("h", 0.0) == proxies[2]
    sticky, proxies = pool("sticky")
    homes = {f"h{number}": sticky.choose(f"h{number}", 0.0) for number in range(100)}
    assert set(homes.values()) == set(proxies)
    gone = proxies[0]
    for _ in range(3):
        sticky.failed(gone, 0.0)
    moved = {host for host, home in homes.items() if sticky.choose(host, 0.0) != home}
    assert moved == {host for host, home in homes.items() if home == gone}
    chance, proxies = pool("random")
    assert {chance.choose("h", 0.0) for _ in range(200)} == set(proxies)


def test_a_rest_doubles_until_something_comes_through() -> None:
    """Some failures in a row begin it; after it one is enough; a success forgets them all."""
    one, (proxy,) = pool("random", 1, failures=2, cool_down="PT10S", longest_cool_down="PT30S")
    assert [one.failed(proxy, 0.0), one.failed(proxy, 0.0)] == [False, True]
    assert (one.healthy(9.0), one.healthy(10.0)) == (0, 1)
    assert one.failed(proxy, 10.0)
    assert (one.healthy(29.0), one.healthy(30.0)) == (0, 1)
    assert one.failed(proxy, 30.0)
    assert (one.healthy(59.0), one.healthy(60.0)) == (0, 1)
    one.succeeded(proxy)
    assert not one.failed(proxy, 60.0)


def test_one_host_sends_no_proxy_to_rest() -> None:
    """What may be its fault as well counts once; several hosts in a row are the proxy's fault."""
    one, (proxy,) = pool("random", 1, failures=3)
    assert not any(one.failed(proxy, 0.0, "dead.test") for _ in range(20))
    assert not one.failed(proxy, 0.0, "other.test")
    assert one.failed(proxy, 0.0, "third.test")


def test_a_file_of_proxies_has_tiers() -> None:
    """Parted by blank lines; comments are skipped."""
    tiers = parse_tiers("# first\nhttp://a:1\nsocks5://u:p%40x@b\n\n\nhttps://c\n\n")
    assert [[str(each) for each in tier] for tier in tiers] == [["http://a:1", "socks5://b:1080"], ["https://c:443"]]
    assert tiers[0][1].password == "p@x"
