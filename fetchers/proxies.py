"""Which proxy a request goes through, and which of them are fit to. Pure: the clock is passed in.

A proxy fails when it takes no connection, refuses ours, or what comes through it breaks. After some failures in a row
it rests, longer each time. One success makes it whole again.
"""

import random
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from urllib.parse import unquote

from ada_url import URL

from fetchers.faults import ProxyFault
from infra.settings.proxies import ProxySettings
from schemas.names import of_name

_PORTS: dict[str, int] = {"http": 80, "https": 443, "socks5": 1080}


@dataclass(frozen=True)
class Proxy:
    """One proxy. Its text shows no credentials."""

    scheme: str
    name: str
    port: int
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.name}:{self.port}"


def parse_proxy(text: str) -> Proxy:
    """A proxy from its URL. Raises :class:`ValueError`, which does not repeat what may be a secret."""
    try:
        url = URL(text.strip())
    except ValueError:
        raise ValueError("a proxy is no URL") from None
    scheme = url.protocol.removesuffix(":")
    if scheme not in _PORTS or not url.hostname:
        raise ValueError("a proxy is http://, https:// or socks5:// and a host")
    port = int(url.port) if url.port else _PORTS[scheme]
    return Proxy(scheme, url.hostname.lower(), port, unquote(url.username), unquote(url.password))


def parse_tiers(text: str) -> list[list[Proxy]]:
    """The proxies of a file: a URL a line, tiers parted by blank lines, ``#`` begins a comment."""
    tiers: list[list[Proxy]] = [[]]
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            continue
        if line.strip():
            tiers[-1].append(parse_proxy(line))
        elif tiers[-1]:
            tiers.append([])
    return [tier for tier in tiers if tier]


@dataclass(slots=True)
class _Health:
    used: int = 0
    failures: int = 0
    blamed: str | None = None
    """The host that the last failure may have been the fault of."""
    rests: int = 0
    resting_until_s: float = 0.0


class ProxyPool:
    """Chooses, never silently for none at all. What is in it can be replaced while it is used; health stays."""

    def __init__(self, settings: ProxySettings, tiers: Sequence[Sequence[Proxy]]) -> None:
        self._settings = settings
        self._direct = dict.fromkeys(settings.direct_hosts, "direct")
        self._own = {name.lower(): [parse_proxy(url) for url in urls] for name, urls in settings.hosts.items()}
        self._health: dict[Proxy, _Health] = {}
        self._turn = 0
        self._tiers: list[list[Proxy]] = []
        self.replace(tiers)

    def replace(self, tiers: Iterable[Iterable[Proxy]]) -> None:
        """Use these from now on; what is known of those that stay is kept."""
        self._tiers = [list(dict.fromkeys(tier)) for tier in tiers]
        every = [*self._tiers, *self._own.values()]
        self._health = {proxy: self._health.get(proxy, _Health()) for tier in every for proxy in tier}

    def proxies(self) -> list[Proxy]:
        """All of them."""
        return list(self._health)

    def choose(self, host: str, now_s: float, tried: Collection[Proxy] = ()) -> Proxy | None:
        """The proxy for a host, none of those that were ``tried``; ``None`` where a rule says direct.

        Raises :class:`ProxyFault` when none is fit.
        """
        if of_name(self._direct, host) is not None:
            return None
        own = of_name(self._own, host)
        for tier in self._tiers if own is None else [own]:
            fit = [proxy for proxy in tier if proxy not in tried and self._is_fit(self._health[proxy], now_s)]
            if fit:
                return self._pick(fit, host)
        raise ProxyFault("no proxy is healthy and free")

    def begin(self, proxy: Proxy) -> None:
        """A connection through the proxy is wanted."""
        self._health.setdefault(proxy, _Health()).used += 1

    def end(self, proxy: Proxy) -> None:
        """It is closed, or could not be made."""
        if (health := self._health.get(proxy)) is not None:
            health.used = max(0, health.used - 1)

    def succeeded(self, proxy: Proxy) -> None:
        """Something came through."""
        if (health := self._health.get(proxy)) is not None:
            health.failures = health.rests = 0
            health.blamed = None
            health.resting_until_s = 0.0

    def rested(self, proxy: Proxy) -> None:
        """It takes connections: its rest is over. Failures in a row still count: it may take them and do no more."""
        if (health := self._health.get(proxy)) is not None:
            health.resting_until_s = 0.0

    def failed(self, proxy: Proxy, now_s: float, host: str | None = None) -> bool:
        """It failed; ``True`` when it rests from now on. ``host``: whose fault it may be as well.

        A host that answers nobody would otherwise send every proxy to rest, one after the other.
        """
        health = self._health.get(proxy)
        if health is None or health.resting_until_s > now_s or (host is not None and health.blamed == host):
            return False
        health.blamed = host
        health.failures += 1
        # After a rest one failure is enough: it was given a chance.
        if health.failures < self._settings.failures and not health.rests:
            return False
        rest = min(self._settings.cool_down * 2 ** min(health.rests, 20), self._settings.longest_cool_down)
        health.resting_until_s = now_s + rest.total_seconds()
        health.rests += 1
        health.failures = 0
        health.blamed = None
        return True

    def healthy(self, now_s: float) -> int:
        """How many do not rest."""
        return sum(health.resting_until_s <= now_s for health in self._health.values())

    def _is_fit(self, health: _Health, now_s: float) -> bool:
        return health.resting_until_s <= now_s and health.used < self._settings.per_proxy

    def _pick(self, fit: list[Proxy], host: str) -> Proxy:
        match self._settings.strategy:
            case "random":
                return random.choice(fit)  # noqa: S311  # to spread, not to hide
            case "round_robin":
                self._turn += 1
                return fit[self._turn % len(fit)]
            case "least_used":
                return min(fit, key=lambda proxy: self._health[proxy].used)
            case "sticky":
                # The highest score wins (rendezvous hashing): a proxy that goes moves its own hosts alone.
                return max(fit, key=lambda proxy: blake2b(f"{proxy} {host}".encode(), digest_size=8).digest())
