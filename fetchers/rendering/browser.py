"""The browser process: Chromium without a network, started, watched and replaced. Playwright speaks to it."""

import asyncio
import os
import resource
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.errors import UserError
from infra.settings.rendering import RenderingSettings
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.rendering import BrowserEnded, BrowserStarted, PageTooLarge

if TYPE_CHECKING:
    from playwright.async_api import Browser as Chromium
    from playwright.async_api import BrowserContext, CDPSession, Playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
_WATCH_S = 0.1
_LOST_S = 10.0
_PAGE_BYTES = resource.getpagesize()
# Tall, so that what is only loaded when it is seen is seen.
_VIEW = {"width": 1_280, "height": 4_096}


class BrowserLost(Exception):
    """The browser has ended, or does not answer: whoever was in it may try again in the next."""


def executable(settings: RenderingSettings) -> Path:
    """Where Chromium is. Raises :class:`UserError` telling how to get it."""
    found = settings.chromium or next((Path(path) for name in _NAMES if (path := shutil.which(name))), None)
    if found is None or not os.access(found, os.X_OK):
        where = f"{found} cannot be run" if found else f"none of {', '.join(_NAMES)} is installed"
        raise UserError(
            f"rendering needs Chromium, and {where}: on Debian `apt-get install chromium`, or name one by "
            "rendering.chromium (ODRADEK_RENDERING__CHROMIUM)"
        )
    return found


def arguments(settings: RenderingSettings, dead_end_port: int) -> list[str]:
    """How Chromium is started: it knows no name and goes nowhere but to a dead end, by whatever protocol."""
    return [
        f"--proxy-server=http://127.0.0.1:{dead_end_port}",
        "--proxy-bypass-list=<-loopback>",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--dns-prefetch-disable",
        "--disable-quic",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-domain-reliability",
        "--no-pings",
        f"--js-flags=--max-old-space-size={settings.max_memory_mib}",
    ]


class Browser:
    """One Chromium at a time, for many pages. Started at the first page, and anew when it is lost or old."""

    def __init__(self, settings: RenderingSettings, user_agent: str) -> None:
        """Raises :class:`UserError` when Playwright or Chromium are not installed."""
        self._settings = settings
        self._user_agent = user_agent
        self._executable = executable(settings)
        self._start = _playwright()
        self._playwright: Playwright | None = None
        self._chromium: Chromium | None = None
        self._session: CDPSession | None = None
        self._starting = asyncio.Lock()
        self._watcher: asyncio.Task[None] | None = None
        self._home = tempfile.mkdtemp(prefix="odradek-browser-")
        self._dead_end: asyncio.Server | None = None
        self._open = self._served = 0
        self.starts = 0
        self.knocks = 0
        """Connections that the browser has tried to make by itself."""

    @asynccontextmanager
    async def context(self) -> AsyncIterator["BrowserContext"]:
        """A fresh context, as a new browser would have it. Raises :class:`BrowserLost`."""
        chromium = await self._ready()
        self._open += 1
        self._served += 1
        try:
            context = await self._guarded(
                chromium.new_context(
                    user_agent=self._user_agent,
                    viewport=_VIEW,  # type: ignore[arg-type]  # a plain dict is what it takes
                    service_workers="block",
                    accept_downloads=False,
                )
            )
            try:
                yield context
            finally:
                await self._guarded(context.close())
        finally:
            self._open -= 1

    async def start(self) -> None:
        """Start it now. Raises :class:`UserError` when it does not."""
        await self._ready()

    async def close(self) -> None:
        """End it."""
        await self._end("closed")
        if self._playwright is not None:
            with suppress(Exception):
                await self._playwright.stop()
        if self._dead_end is not None:
            self._dead_end.close()
        await asyncio.to_thread(shutil.rmtree, self._home, ignore_errors=True)

    async def lost(self) -> None:
        """Somebody has found that it does not answer: the next page gets a new one."""
        await self._end("lost")

    async def kill(self) -> None:
        """End it by force, as a crash would."""
        for pid in await _processes(self._session) if self._session is not None else ():
            _kill(pid)

    async def _guarded(self, work: Any) -> Any:
        """What the browser should do at once. Raises :class:`BrowserLost` when it does not."""
        try:
            async with asyncio.timeout(_LOST_S):
                return await work
        except Exception as error:
            # Playwright tells every end of a browser by another error.
            await self._end("lost")
            raise BrowserLost(f"{type(error).__name__}: the browser does not answer") from None

    async def _ready(self) -> "Chromium":
        async with self._starting:
            is_old = self._served >= self._settings.pages_per_browser and not self._open
            if self._chromium is not None and (is_old or not self._chromium.is_connected()):
                await self._end("old" if is_old else "lost")
            if self._chromium is None:
                self._chromium = await self._launch()
            return self._chromium

    async def _launch(self) -> "Chromium":
        if self._playwright is None:
            self._playwright = await self._start().start()
        if self._dead_end is None:
            self._dead_end = await asyncio.start_server(self._knocked, "127.0.0.1", 0)
        port = self._dead_end.sockets[0].getsockname()[1]
        sandboxed = self._settings.sandbox == "on" or (self._settings.sandbox == "auto" and os.geteuid() != 0)
        try:
            chromium = await self._playwright.chromium.launch(
                executable_path=self._executable,
                chromium_sandbox=sandboxed,
                args=arguments(self._settings, port),
                # Whoever opens windows unasked gets none.
                ignore_default_args=["--disable-popup-blocking"],
                # Nothing of our own environment, which may hold secrets.
                env={"PATH": os.defpath, "HOME": self._home, "LANG": "C.UTF-8"},
            )
        except Exception as error:
            told = str(error).strip().splitlines()
            raise UserError(f"{self._executable} does not start: {told[0] if told else type(error).__name__}") from None
        self._session = await chromium.new_browser_cdp_session()
        self._served = 0
        self.starts += 1
        self._watcher = asyncio.create_task(self._watch(self._session))
        emit(BrowserStarted(chromium.version))
        return chromium

    async def _knocked(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.knocks += 1
        writer.transport.abort()

    async def _end(self, why: str) -> None:
        chromium, self._chromium = self._chromium, None
        session, self._session = self._session, None
        if self._watcher is not None:
            self._watcher.cancel()
            self._watcher = None
        if chromium is None:
            return
        emit(BrowserEnded(why))
        pids = await _processes(session) if session is not None else {}
        try:
            async with asyncio.timeout(_LOST_S):
                await chromium.close()
        except Exception:
            # It hangs or is gone: what is left of it goes by force.
            for pid in pids:
                _kill(pid)

    async def _watch(self, session: "CDPSession") -> None:
        """End what takes more memory than a page may."""
        limit_bytes = self._settings.max_memory_mib * 2**20
        while True:
            await asyncio.sleep(_WATCH_S)
            if not self._open:
                continue
            for pid, kind in (await _processes(session)).items():
                if kind == "renderer" and resident_bytes(pid) > limit_bytes and _kill(pid):
                    emit(PageTooLarge(self._settings.max_memory_mib))


async def _processes(session: "CDPSession") -> dict[int, str]:
    try:
        async with asyncio.timeout(_LOST_S):
            found = await session.send("SystemInfo.getProcessInfo")
    except Exception:
        # A browser that ends, or is too busy: who needs it finds out by other means.
        return {}
    return {int(each["id"]): str(each["type"]) for each in found["processInfo"]}


def resident_bytes(pid: int) -> int:
    """The memory of a process that is its own; 0 when it is gone."""
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * _PAGE_BYTES


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _playwright() -> Any:
    try:
        from playwright.async_api import async_playwright  # noqa: PLC0415  # an extra: only who renders needs it
    except ImportError:
        raise UserError(
            "rendering needs Playwright: install Odradek with its extra, `pip install odradek[render]`"
        ) from None
    return async_playwright
