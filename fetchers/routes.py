"""The ways to a place: direct, or through a proxy. Proxies are watched, probed, and read again from their file."""

import asyncio
import ssl
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from fetchers.connection import Connection, Facts
from fetchers.dialler import Dial, Place, addresses_of, open_socket, tls_facts
from fetchers.faults import ConnectFault, Fault, ProxyFault
from fetchers.proxies import Proxy, ProxyPool, parse_proxy, parse_tiers
from fetchers.resolver import Resolver
from fetchers.tunnels import Talk, lay
from infra.settings import FetcherSettings
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.fetchers import ProxiesChanged, ProxiesRefused, ProxyBypassed, ProxyFailed
from schemas.url import is_address

_RELOAD_S = 2.0
_WAIT_S = 0.1


class Routes:
    """Chooses and lays them."""

    def __init__(
        self,
        settings: FetcherSettings,
        resolver: Resolver,
        tls: Callable[[str], ssl.SSLContext],
        told: Callable[[], str | None],
    ) -> None:
        """``told`` gives more proxies, as text like that of the file, which may change at any time."""
        self._settings = settings
        self._wanted = settings.proxies
        self._resolver = resolver
        self._tls = tls
        self._fixed = [[parse_proxy(url) for url in tier] for tier in self._wanted.tiers]
        self._told = told
        self._heard: str | None = None
        self._told_tiers: list[list[Proxy]] = []
        self._file_tiers: list[list[Proxy]] = []
        self._seen: tuple[int, int, int] | None = None
        self._looked_s = 0.0
        self._probes: asyncio.Task[None] | None = None
        self.pool = ProxyPool(self._wanted, self._fixed)
        self._is_set = bool(self._fixed or self._wanted.hosts) or self._wanted.file is not None
        self._uses_proxies = self._is_set

    async def choose(self, host: str, until_s: float, tried: Collection[Proxy] = ()) -> Proxy | None:
        """The proxy for a host, ``None`` for none. Waits until then for a fit one; raises :class:`ProxyFault`."""
        self._reload()
        if not self._uses_proxies:
            return None
        if self._probes is None and self._wanted.probe_interval:
            self._probes = asyncio.get_running_loop().create_task(self._probe())
        while True:
            try:
                return self.pool.choose(host, time.monotonic(), tried)
            except ProxyFault:
                if self._wanted.without == "direct":
                    emit(ProxyBypassed(host))
                    return None
                if tried or time.monotonic() + _WAIT_S > until_s:
                    raise
            await asyncio.sleep(_WAIT_S)

    async def connect(self, proxy: Proxy, place: Place, timeout_s: float, dial: Dial) -> Connection:
        """A connection to a place through a proxy. Raises a :class:`Fault`; what is the proxy's is held against it."""
        target = place.name.strip("[]")
        if not self._wanted.resolves or is_address(place.name):
            # The proxy gets an address that was judged here, so that no name leads it inside.
            target = (await addresses_of(place.name, self._resolver, self._settings.allow_networks, dial))[0]
        self.pool.begin(proxy)
        try:
            connection = await self._through(proxy, place, target, timeout_s)
        except ConnectFault:
            self.pool.end(proxy)
            raise
        except (Fault, OSError) as error:
            self.pool.end(proxy)
            # One that was reached and led nowhere may not be to blame: the place may be dead.
            self.failed(proxy, error, None if isinstance(error, _Unreached) else place.name)
            raise ProxyFault(f"{proxy}: {error or type(error).__name__}") from None
        except BaseException:
            self.pool.end(proxy)
            raise
        connection.on_closed = lambda: self.pool.end(proxy)
        return connection

    def failed(self, proxy: Proxy, error: BaseException, host: str | None = None) -> None:
        """Something went wrong on the way; ``host``: whose fault it may be as well."""
        rests = self.pool.failed(proxy, time.monotonic(), host)
        emit(ProxyFailed(str(proxy), rests, f"{type(error).__name__}: {error}"))

    async def close(self) -> None:
        """Probe no more."""
        if self._probes is not None:
            self._probes.cancel()
            with suppress(asyncio.CancelledError):
                await self._probes

    async def _through(self, proxy: Proxy, place: Place, target: str, timeout_s: float) -> Connection:
        try:
            talk = await self._reach(proxy, timeout_s)
        except (Fault, OSError) as error:
            raise _Unreached(f"{error or type(error).__name__}") from None
        return await self._lay(talk, proxy, place, target, timeout_s)

    async def _lay(self, talk: Talk, proxy: Proxy, place: Place, target: str, timeout_s: float) -> Connection:
        loop = asyncio.get_running_loop()
        transport = talk.transport
        if transport is None:
            raise ProxyFault("the proxy closed the connection")
        try:
            async with asyncio.timeout(timeout_s):
                await lay(talk, proxy, target, place.port)
            connection = Connection(loop)
            peer = transport.get_extra_info("peername")
            if place.tls is None:
                transport.set_protocol(connection)
                connection.connection_made(transport)
            else:
                laid = await loop.start_tls(
                    transport, connection, place.tls, server_hostname=place.name.strip("[]"),
                    ssl_handshake_timeout=timeout_s,
                )  # fmt: skip
                if laid is None:
                    raise ProxyFault("the connection ended in the handshake")
                connection.connection_made(laid)
        except BaseException:
            transport.abort()
            raise
        tls = tls_facts(connection) if place.tls is not None else None
        connection.facts = Facts(str(peer[0]) if peer else None, tls, str(proxy))
        return connection

    async def _reach(self, proxy: Proxy, timeout_s: float) -> Talk:
        allowed = (*self._wanted.allow_networks, *self._settings.allow_networks)
        addresses = await addresses_of(proxy.name, self._resolver, allowed, Dial())
        opened = await open_socket(addresses, proxy.port, timeout_s)
        talk = Talk()
        tls = self._tls(proxy.name) if proxy.scheme == "https" else None
        try:
            await asyncio.get_running_loop().create_connection(
                lambda: talk, sock=opened, ssl=tls, server_hostname=proxy.name.strip("[]") if tls else None,
                ssl_handshake_timeout=timeout_s if tls else None,
            )  # fmt: skip
        except BaseException:
            opened.close()
            raise
        return talk

    async def _probe(self) -> None:
        """Ask each proxy for a connection now and then."""
        timeout_s = self._settings.first_connect_timeout.total_seconds()

        async def ask(proxy: Proxy) -> None:
            try:
                talk = await self._reach(proxy, timeout_s)
            except (Fault, OSError) as error:
                self.failed(proxy, error)
                return
            if talk.transport is not None:
                talk.transport.abort()
            self.pool.rested(proxy)

        while True:
            await asyncio.sleep(self._wanted.probe_interval.total_seconds())
            await asyncio.gather(*map(ask, self.pool.proxies()))

    def _reload(self) -> None:
        """Take what the file or the control topic says now. What is wrong there changes nothing, and is told about."""
        told = self._told()
        path, now_s = self._wanted.file, time.monotonic()
        is_time = path is not None and (not self._looked_s or now_s - self._looked_s >= _RELOAD_S)
        if told == self._heard and not is_time:
            return
        try:
            if told != self._heard:
                self._heard = told
                self._told_tiers = parse_tiers(told or "")
            elif path is None or not self._read(path, now_s):
                return
        except (OSError, ValueError) as error:
            # An OSError names the file, a ValueError nothing: neither has a line of it.
            emit(ProxiesRefused(type(error).__name__ if isinstance(error, UnicodeError) else str(error)))
            return
        self._uses_proxies = self._is_set or self._heard is not None
        self.pool.replace([*self._fixed, *self._file_tiers, *self._told_tiers])
        emit(ProxiesChanged(len(self.pool.proxies())))

    def _read(self, path: Path, now_s: float) -> bool:
        """Read the file again if it has changed. Raises :class:`OSError` or :class:`ValueError`."""
        self._looked_s = now_s
        state = _state(path)
        if state == self._seen:
            return False
        self._seen = state
        self._file_tiers = parse_tiers(path.read_text())
        return True


class _Unreached(ProxyFault):
    """The proxy takes no connection: nobody else is to blame."""


def _state(path: Path) -> tuple[int, int, int]:
    stat = path.stat()
    # A mounted secret changes by a link that leads to another file.
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
