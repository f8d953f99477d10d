"""Proxies that an operator sets while the fetchers run, through a real Kafka."""

import asyncio
import os
import subprocess
import sys
from uuid import uuid4

import pytest
import uvloop

from fetchers.stage import Fetchers
from infra.kafka.control import Control
from infra.kafka.topics import TopicName
from infra.settings import FetcherSettings, Settings
from infra.stage import Context
from schemas.records import Fetch
from tests.integration.fetchers_scene import Tap, release, request, serving
from tests.unit.fetchers.raw_proxy import RawProxy, proxying

pytestmark = pytest.mark.timeout(120)


def odradek(settings: Settings, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """A command, in a process of its own."""
    environment = {
        **os.environ,
        "KAFKA_BOOTSTRAP_SERVERS": settings.kafka_bootstrap_servers or "",
        "ODRADEK_DATA_DIR": str(settings.data_dir),
        "ODRADEK_KAFKA__PARTITIONS": str(settings.kafka.partitions),
    }
    command = [sys.executable, "-m", "infra.cli", *arguments]
    return subprocess.run(command, env=environment, input=text, capture_output=True, text=True, check=False, timeout=60)


def test_an_operator_sets_the_proxies_of_running_fetchers(kafka_settings: Settings) -> None:
    """The next request goes through them, the one after they are taken back does not; a broken list is refused."""
    crawl = f"c{uuid4().hex[:8]}"
    fetchers = FetcherSettings(
        allow_networks=("127.0.0.0/8",),  # type: ignore[arg-type]  # pydantic makes networks of it
        resolve={"*.fetchers.test": "127.0.0.1"},
    )
    settings = kafka_settings.model_copy(update={"fetchers": fetchers})
    fetches = Tap(settings, TopicName.FETCHES)
    proxy = RawProxy("http", secret=("me", "s3cret"))

    async def until(control: Control, text: str | None) -> None:
        async with asyncio.timeout(30):
            while control.proxies() != text:  # noqa: ASYNC110  # the topic is followed by a thread
                await asyncio.sleep(0.05)

    async def scenario() -> list[subprocess.CompletedProcess[str]]:
        control = Control(settings, f"proxies-{uuid4().hex[:6]}")
        await asyncio.to_thread(control.start)
        stage = Fetchers(Context(f"fetchers-test-{uuid4().hex[:6]}", settings, control))
        stopping = asyncio.Event()
        async with serving() as site, proxying(proxy):
            work = asyncio.create_task(stage.run(stopping))
            said = []
            try:
                for number, text in enumerate([None, proxy.url, None]):
                    arguments = ("clear",) if text is None else ("set", "-")
                    said.append(await asyncio.to_thread(odradek, settings, "proxies", *arguments, text=text or ""))
                    await until(control, text)
                    wanted = request(f"http://p{number}.fetchers.test:{site.port}/{number}", crawl)
                    await asyncio.to_thread(release, settings, [wanted])
                    await asyncio.to_thread(fetches.read, crawl, number + 1)
                broken = "gopher://me:s3cret@x"
                said.append(await asyncio.to_thread(odradek, settings, "proxies", "set", "-", text=broken))
            finally:
                stopping.set()
                await work
                await asyncio.to_thread(control.stop)
            return said

    said = uvloop.run(scenario())
    assert [each.returncode for each in said] == [0, 0, 0, 2]
    assert "s3cret" not in "".join(each.stdout + each.stderr for each in said)
    through = {fetch.url[-1]: fetch.proxy for fetch in fetches.found if isinstance(fetch, Fetch)}
    assert through == {"0": None, "1": f"http://127.0.0.1:{proxy.port}", "2": None}
