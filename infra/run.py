"""The one way to run a stage: logs, control, health, heartbeats, signals, drain, exit code."""

import asyncio
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from importlib.metadata import entry_points
from typing import Any

import uvloop

from infra.allocator import keep_freed_memory
from infra.errors import Failure, Fatal, UserError
from infra.health import HealthServer, ProgressWatch
from infra.kafka.control import Control
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings, read
from infra.settings.files import contents
from infra.settings.reload import Refused, Reloading
from infra.stage import Context, Reconfigures, Stage
from infra.telemetry import logs
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.running import (
    ConfigurationApplied,
    ConfigurationRefused,
    ReadyChanged,
    StageFailed,
    StageStarted,
    StageStopped,
    StageStopping,
)
from schemas.records import Heartbeat
from schemas.wire import encode, prepare

GROUP = "odradek.stages"
HEARTBEAT_EVERY = timedelta(seconds=1)
LOOK_AT_SETTINGS_EVERY = timedelta(seconds=1)
DRAIN = timedelta(seconds=30)
LET_GO = timedelta(seconds=5)
"""For a stage that is cancelled because the brokers refuse us."""


def stage_names() -> list[str]:
    """The stages that are installed."""
    return sorted({each.name for each in entry_points(group=GROUP)})


def wanted_stages(settings: Settings) -> list[str]:
    """Those that a whole pipeline with these settings consists of."""
    return [name for name in stage_names() if name != "renderers" or settings.rendering.is_wanted]


def run_stage(name: str, settings: Settings, reread: Callable[[], Settings] = read) -> int:
    """Run one stage until it is told to stop (SIGTERM, SIGINT); returns the exit code.

    ``reread`` gives the settings that a start would have now: it is asked when their files change.

    0 after a clean drain, 1 when it could not go on or did not drain in time, 2 for something the user can mend. A
    second signal ends the process at once.
    """
    found = {each.name: each for each in entry_points(group=GROUP)}
    if name not in found:
        raise UserError(f"there is no stage {name!r}; there are: {', '.join(sorted(found))}")
    worker = f"{name}-{socket.gethostname()}-{os.getpid()}"
    logs.configure(settings, name, worker)
    prepare()
    keep_freed_memory()
    # The policy also serves the loops that libraries start in threads of their own.
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    code = asyncio.run(_Runner(name, worker, settings).run(reread, found[name].load()))
    if code != 0 and any(not each.daemon for each in threading.enumerate() if each is not threading.main_thread()):
        # A client library's thread that did not end must not keep a failed process from being started again.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


class _Runner:
    def __init__(self, name: str, worker: str, settings: Settings) -> None:
        self._name = name
        self._worker = worker
        self._settings = settings
        self._stopping = asyncio.Event()
        self._started_at = datetime.now(UTC)
        self._refused = asyncio.Event()
        self._refused_for = ""

    async def run(self, reread: Callable[[], Settings], make: type[Stage]) -> int:
        self._handle_signals()
        control = Control(self._settings, self._worker)
        beats: asyncio.Future[Any] | None = None
        health: HealthServer | None = None
        clean = False
        try:
            await asyncio.to_thread(control.start)
            stage = make(Context(self._worker, self._settings, control))
            health = HealthServer(stage, self._settings.health_address, self._settings.health_port)
            url = await health.start()
            emit(StageStarted(self._name, self._worker, url))
            beats = asyncio.gather(self._beat(stage, health, url), self._follow_settings(stage, reread))
            # What lives as long as the process is none of the collector's business.
            gc.collect()
            gc.freeze()
            # Records are made and dropped by the thousand, and hardly any cycle among them.
            gc.set_threshold(50_000, 20, 50)
            clean = await self._work(stage)
            return 0 if clean else 1
        except UserError as error:
            emit(StageFailed(self._name, str(error)))
            return 2
        except (Fatal, Failure) as error:
            emit(StageFailed(self._name, str(error)))
            return 1
        finally:
            self._stopping.set()
            if beats is not None:
                with suppress(Exception):
                    await beats
            if health is not None:
                await health.stop()
            await asyncio.to_thread(control.stop)
            emit(StageStopped(self._name, clean))

    async def _work(self, stage: Stage) -> bool:
        """Run the stage; ``False`` when it did not drain in time.

        Raises :class:`UserError` when the brokers refuse us by now: nothing could be delivered or committed.
        """
        work = asyncio.create_task(stage.run(self._stopping))
        ends = {asyncio.create_task(each.wait()) for each in (self._stopping, self._refused)}
        await asyncio.wait({work, *ends}, return_when=asyncio.FIRST_COMPLETED)
        for each in ends:
            each.cancel()
        if self._refused.is_set() and not work.done():
            work.cancel()
            await asyncio.wait({work}, timeout=LET_GO.total_seconds())
            raise UserError(f"Kafka refuses us: {self._refused_for}")
        done, _ = await asyncio.wait({work}, timeout=DRAIN.total_seconds())
        if not done:
            emit(StageFailed(self._name, f"did not drain within {DRAIN.total_seconds():.0f} s"))
            # What is not committed is done again by others; waiting longer would only be killed from outside.
            os._exit(1)
        await work
        return True

    def _handle_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, number)

    def _on_signal(self, number: signal.Signals) -> None:
        if self._stopping.is_set():
            sys.stderr.flush()
            os._exit(1)
        emit(StageStopping(self._name, number.name))
        self._stopping.set()

    async def _beat(self, stage: Stage, health: HealthServer, url: str) -> None:
        """Send heartbeats and judge liveness until the stage stops; the last one says that it is the last."""
        producer = Producer(self._settings, f"{self._worker}-heartbeat")
        watch = ProgressWatch()
        was_ready = False
        loop = asyncio.get_running_loop()
        while not self._stopping.is_set():
            health.set_alive(watch.alive(stage, loop.time()))
            if stage.ready() != was_ready:
                was_ready = stage.ready()
                emit(ReadyChanged(self._name, was_ready))
            self._send(producer, stage, url)
            if producer.refusal.reason is not None:
                self._refused_for = producer.refusal.reason
                self._refused.set()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), HEARTBEAT_EVERY.total_seconds())
        self._send(producer, stage, url)
        await asyncio.to_thread(producer.flush, timedelta(seconds=2))

    async def _follow_settings(self, stage: Stage, reread: Callable[[], Settings]) -> None:
        """Take what changes in the files of settings, until the stage stops."""
        reloading = Reloading(self._settings, reread, contents)
        while not self._stopping.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), LOOK_AT_SETTINGS_EVERY.total_seconds())
            found = reloading.look()
            if isinstance(found, Refused):
                emit(ConfigurationRefused(found.error))
            elif found is not None:
                logs.configure(found.settings, self._name, self._worker)
                if isinstance(stage, Reconfigures):
                    stage.reconfigure(found.settings)
                emit(ConfigurationApplied(found.applied, found.needs_restart))

    def _send(self, producer: Producer, stage: Stage, url: str) -> None:
        positions = dict(stage.positions())
        beat = Heartbeat(
            worker=self._worker,
            stage=self._name,
            url=url,
            started_at=self._started_at,
            at=datetime.now(UTC),
            every_s=HEARTBEAT_EVERY.total_seconds(),
            stopping=self._stopping.is_set(),
            ready=stage.ready(),
            partitions=stage.partitions(),
            counts=dict(stage.counts()),
            positions=positions,
        )
        producer.poll()
        # A heartbeat that cannot be sent is not missed: the next one says more.
        with suppress(BufferError, Failure):
            producer.send(Outbound(TopicName.HEARTBEATS, self._worker.encode(), encode(beat)), lambda _error: None)
