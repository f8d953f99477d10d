"""The one way to run a stage: logs, control, health, heartbeats, signals, drain, exit code."""

import asyncio
import gc
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from importlib.metadata import entry_points

import uvloop

from infra.allocator import keep_freed_memory
from infra.errors import Failure, Fatal, UserError
from infra.health import HealthServer, ProgressWatch
from infra.kafka.control import Control
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.stage import Context, Stage
from infra.telemetry import logs
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.running import ReadyChanged, StageFailed, StageStarted, StageStopped, StageStopping
from schemas.records import Heartbeat
from schemas.wire import encode, prepare

GROUP = "odradek.stages"
HEARTBEAT_EVERY = timedelta(seconds=1)
DRAIN = timedelta(seconds=30)


def stage_names() -> list[str]:
    """The stages that are installed."""
    return sorted({each.name for each in entry_points(group=GROUP)})


def wanted_stages(settings: Settings) -> list[str]:
    """Those that a whole pipeline with these settings consists of."""
    return [name for name in stage_names() if name != "renderers" or settings.rendering.is_wanted]


def run_stage(name: str, settings: Settings) -> int:
    """Run one stage until it is told to stop (SIGTERM, SIGINT); returns the exit code.

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
    code = asyncio.run(_Runner(name, worker, settings).run(found[name].load()))
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

    async def run(self, make: type[Stage]) -> int:
        self._handle_signals()
        control = Control(self._settings, self._worker)
        beats: asyncio.Task[None] | None = None
        health: HealthServer | None = None
        clean = False
        try:
            await asyncio.to_thread(control.start)
            stage = make(Context(self._worker, self._settings, control))
            health = HealthServer(stage, self._settings.health_address, self._settings.health_port)
            url = await health.start()
            emit(StageStarted(self._name, self._worker, url))
            beats = asyncio.create_task(self._beat(stage, health, url))
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
        """Run the stage; ``False`` when it did not drain in time."""
        work = asyncio.create_task(stage.run(self._stopping))
        stop = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
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
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), HEARTBEAT_EVERY.total_seconds())
        self._send(producer, stage, url)
        await asyncio.to_thread(producer.flush, timedelta(seconds=2))

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
