"""The one door to the web: three tiers of connections behind one question.

- *Persistent*: kept open after an answer for the next request to the same origin, up to a limit in all and for a host.
- *Temporary*: for what comes beyond that limit; closed after its answer.
- *Standby*: for hosts whose name or address is in trouble: a second resolver, all addresses raced against each other,
  more time. Its limit is small and of its own: whoever finds it full fails at once, so trouble holds up nobody else.
"""

import asyncio
import ssl
import time
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache

from fetchers.answers import Answer, Judge
from fetchers.connection import Connection, Patience
from fetchers.dialler import Dial, Place, addresses_of, connect
from fetchers.faults import BlockedAddress, Disconnected, DnsFault, Fault, Late, NoSuchHost, ProxyFault
from fetchers.idle import IdleConnections
from fetchers.lookups import Dns, SystemLookup
from fetchers.proxies import Proxy
from fetchers.resolver import Lookup, Resolver
from fetchers.routes import Routes
from infra.settings import FetcherSettings
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.fetchers import ConnectionOpened
from schemas.url import Url

_SWEEP_S = 5.0


class Tier(StrEnum):
    """How a connection is used."""

    PERSISTENT = "persistent"
    TEMPORARY = "temporary"
    STANDBY = "standby"


class Connections:
    """Opens, keeps and closes the connections of one process. TLS is verified but for hosts that are named."""

    def __init__(
        self,
        settings: FetcherSettings,
        lookup: Lookup | None = None,
        second: Lookup | None = None,
        proxies: Callable[[], str | None] = lambda: None,
    ) -> None:
        """``proxies`` gives those that are told beside the settings (:class:`fetchers.routes.Routes`)."""
        self._settings = settings
        self._dns = Dns(settings.dns_servers) if lookup is None else None
        system = SystemLookup(settings.dns_lookups)
        self._resolver = Resolver(settings, lookup or self._dns or system)
        self._second = Resolver(settings, second or lookup or system)
        self._idle = IdleConnections(settings.idle_connections, settings.connections_per_host, settings.keep_alive)
        self._first_s = settings.first_connect_timeout.total_seconds()
        self._each_s = settings.connect_timeout.total_seconds()
        self._tls = tls_context(verified=True)
        self._unverified = tls_context(verified=False) if settings.insecure_hosts else self._tls
        self._routes = Routes(settings, self._resolver, self._context, proxies)
        self._busy = dict.fromkeys(Tier, 0)
        self._sweeper: asyncio.TimerHandle | None = None

    async def ask(self, url: Url, request: bytes, judge: Judge, patience: Patience, dial: Dial) -> Answer:
        """Send a request and return its answer, whole or not; ``dial`` is filled in.

        Raises :class:`Fault`, :class:`OSError` or :class:`ssl.SSLError` when no connection could be made.
        """
        tried: list[Proxy] = []
        while True:
            proxy = await self._routes.choose(url.name, patience.head_s, tried)
            try:
                return await self._ask(url, proxy, (request, judge, patience), dial)
            except ProxyFault:
                # It has not taken the request to its host: another one may.
                is_over = time.monotonic() >= patience.head_s or len(tried) + 1 >= self._settings.proxies.tries
                if proxy is None or is_over:
                    raise
                tried.append(proxy)

    async def _ask(self, url: Url, proxy: Proxy | None, what: tuple[bytes, Judge, Patience], dial: Dial) -> Answer:
        request, judge, patience = what
        key = url.origin, proxy
        kept = self._idle.take(key)
        if kept is not None:
            answer = Answer(judge, self._settings.max_head_kib * 1024)
            await self._exchange(kept, Tier.PERSISTENT, key, (request, answer, patience))
            dial.facts = kept.facts
            # The server may close a kept connection at the moment we use it: it has not seen the request then.
            if answer.first_s or answer.error is None or isinstance(answer.error, Late):
                return answer
        answer = Answer(judge, self._settings.max_head_kib * 1024)
        tier, connection = await self._open(url, proxy, patience, dial)
        dial.facts = connection.facts
        await self._exchange(connection, tier, key, (request, answer, patience))
        if proxy is not None:
            self._judge(proxy, answer, url.name)
        return answer

    def counts(self) -> dict[str, int]:
        """Connections by what they do, and what the DNS cache was good for."""
        busy = {f"connections_{tier}": count for tier, count in self._busy.items()}
        return busy | {
            "connections_idle": len(self._idle),
            "proxies": len(self._routes.pool.proxies()),
            "proxies_healthy": self._routes.pool.healthy(time.monotonic()),
            "dns_hits": self._resolver.hits,
            "dns_misses": self._resolver.misses,
            "dns_failures": self._resolver.failures,
        }

    async def close(self) -> None:
        """Close what waits; what is under way is its asker's to cancel."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        self._idle.close()
        await self._routes.close()
        await self._resolver.close()
        await self._second.close()
        if self._dns is not None:
            self._dns.close()

    def _judge(self, proxy: Proxy, answer: Answer, host: str) -> None:
        """What came through a new connection speaks for or against the proxy; that the host is slow does not."""
        if answer.first_s:
            self._routes.pool.succeeded(proxy)
        elif isinstance(answer.error, Disconnected):
            self._routes.failed(proxy, answer.error, host)

    async def _exchange(
        self, connection: Connection, tier: Tier, key: tuple[str, Proxy | None], what: tuple[bytes, Answer, Patience]
    ) -> None:
        request, answer, patience = what
        self._busy[tier] += 1
        try:
            await connection.exchange(request, answer, patience)
        finally:
            self._busy[tier] -= 1
        if not answer.keep:
            return
        if tier is not Tier.PERSISTENT or not self._idle.put(key, connection):
            connection.close()
        elif self._sweeper is None:
            self._sweep()

    async def _open(self, url: Url, proxy: Proxy | None, patience: Patience, dial: Dial) -> tuple[Tier, Connection]:
        began_s = time.monotonic()
        try:
            async with asyncio.timeout(max(0.0, patience.head_s - began_s)):
                place = Place(url.name, url.port, self._context(url.name) if url.scheme == "https" else None)
                if proxy is None:
                    tier, connection = await self._dial(place, dial)
                else:
                    tier = self._tier()
                    connection = await self._routes.connect(proxy, place, self._each_s, dial)
        except TimeoutError as error:
            if proxy is None:
                raise Late("no connection in time") from None
            self._routes.failed(proxy, error, url.name)
            raise ProxyFault(f"no connection through {proxy} in time") from None
        emit(ConnectionOpened(tier, dial.dns_s, dial.connect_s, dial.tls_s))
        return tier, connection

    def _tier(self) -> Tier:
        return Tier.TEMPORARY if self._idle.is_full else Tier.PERSISTENT

    async def _dial(self, place: Place, dial: Dial) -> tuple[Tier, Connection]:
        """The first address at first; where that is in trouble, all that is left of them, on standby."""
        addresses: list[str] = []
        try:
            addresses = await addresses_of(place.name, self._resolver, self._settings.allow_networks, dial)
            return self._tier(), await connect(place, addresses[:1], self._first_s, dial)
        except (BlockedAddress, NoSuchHost, ssl.SSLError):
            raise
        except (Fault, OSError) as error:
            # Who has refused will refuse again; who was only slow may answer with more time.
            left = addresses if isinstance(error, Late) else addresses[1:]
            if not left and not isinstance(error, DnsFault):
                raise
            if self._busy[Tier.STANDBY] >= self._settings.standby_connections:
                raise
            return Tier.STANDBY, await self._on_standby(place, left, dial)

    async def _on_standby(self, place: Place, addresses: list[str], dial: Dial) -> Connection:
        self._busy[Tier.STANDBY] += 1
        try:
            if not addresses:
                addresses = await addresses_of(place.name, self._second, self._settings.allow_networks, dial)
            return await connect(place, addresses, self._each_s, dial)
        finally:
            self._busy[Tier.STANDBY] -= 1

    def _context(self, name: str) -> ssl.SSLContext:
        return self._unverified if name in self._settings.insecure_hosts else self._tls

    def _sweep(self) -> None:
        self._idle.expire()
        self._sweeper = asyncio.get_running_loop().call_later(_SWEEP_S, self._sweep) if len(self._idle) else None


@lru_cache(maxsize=2)
def tls_context(*, verified: bool) -> ssl.SSLContext:
    """TLS 1.2 or newer, HTTP/1.1 only, checked against the system's authorities unless told otherwise; one for all."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if not verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
