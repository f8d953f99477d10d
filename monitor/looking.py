"""Look at the pipeline: Kafka from threads, the workers' metrics over HTTP."""

import asyncio
import json
import shutil
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp

from infra.kafka.groups import Group, GroupReader
from infra.kafka.heartbeats import Heartbeats
from infra.kafka.lag import LagReader, Offsets
from infra.kafka.topics import TopicName
from infra.progress import FRONTIER
from infra.settings import Settings
from infra.telemetry.exposition import Series, read
from monitor.findings import Busy
from monitor.look import Look, Samples
from schemas.records import Heartbeat

ANSWER_WITHIN = timedelta(seconds=3)
MAX_ANSWER_BYTES = 4 * 2**20
GROUPS_EVERY = timedelta(seconds=6)


class Looking:
    """Keeps its connections open. Make it in a running loop; close it after use."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._beats = Heartbeats(settings, settings.monitor.gone_after)
        self._lag = LagReader(settings, also=(TopicName.LINKS, TopicName.DEAD_LETTERS, TopicName.ROBOTS))
        self._group_names: list[str] = []
        self._reader: GroupReader | None = None
        self._groups: Mapping[str, Group] = {}
        self._groups_at_s = 0.0
        # Workers are named by heartbeats: no proxy of the environment stands between us, and no redirect leads away.
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ANSWER_WITHIN.total_seconds()))

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()
        await asyncio.to_thread(self._beats.close)

    async def look(self) -> Look:
        """One look. Raises :class:`infra.errors.RetryLater` when Kafka does not answer."""
        beats, offsets = await asyncio.to_thread(self._ask_kafka)
        answers = await asyncio.gather(*(self._scrape(beat) for beat in beats))
        return Look(
            at=datetime.now(UTC),
            beats=beats,
            offsets=offsets,
            groups=self._groups,
            samples={
                beat.worker: found for beat, found in zip(beats, answers, strict=True) if not isinstance(found, str)
            },
            silent={beat.worker: found for beat, found in zip(beats, answers, strict=True) if isinstance(found, str)},
            disk_free=_disk_free({"data": self._settings.data_dir, "spool": _folder(self._settings.spool)}),
        )

    def _ask_kafka(self) -> tuple[list[Heartbeat], Offsets]:
        beats = self._beats.read(timedelta(milliseconds=100))
        offsets = self._lag.read()
        now_s = datetime.now(UTC).timestamp()
        if now_s - self._groups_at_s >= GROUPS_EVERY.total_seconds():
            self._groups_at_s = now_s
            self._reader = self._reader or GroupReader(self._settings, offsets.groups)
            self._groups = self._reader.read()
        return beats, offsets

    async def _scrape(self, beat: Heartbeat) -> Samples | str:
        """The worker's metrics as Prometheus would have them, under its stage as ``job``; or why there are none."""
        try:
            text = await self._get(f"{beat.url}/metrics")
            samples = read(text)
        except (OSError, ValueError, aiohttp.ClientError, TimeoutError) as error:
            return f"{type(error).__name__}: {error}"
        job = ("job", beat.stage)
        return {Series(each.name, tuple(sorted((*each.labels, job)))): value for each, value in samples.items()}

    async def busy(self, beats: Iterable[Heartbeat], search: str, limit: int) -> list[Busy]:
        """The hosts with most waiting, over all frontiers that answer."""
        told = await asyncio.gather(*(self._hosts(beat, search, limit) for beat in beats if beat.stage == FRONTIER))
        return sorted((each for some in told for each in some), key=lambda each: -each.queued)[:limit]

    async def _hosts(self, beat: Heartbeat, search: str, limit: int) -> list[Busy]:
        try:
            query = {"search": search, "limit": str(limit)}
            answer: list[dict[str, Any]] = json.loads(await self._get(f"{beat.url}/hosts", query))
            return [Busy(**{name: each[name] for name in Busy._fields}) for each in answer]
        except (OSError, ValueError, KeyError, TypeError, aiohttp.ClientError, TimeoutError):
            return []

    async def _get(self, url: str, query: Mapping[str, str] | None = None) -> str:
        async with self._session.get(url, params=query, allow_redirects=False) as answer:
            if answer.status != 200:
                raise ValueError(f"{url} answers {answer.status}")
            body = await answer.content.read(MAX_ANSWER_BYTES)
            while chunk := await answer.content.read(MAX_ANSWER_BYTES - len(body) + 1):
                body += chunk
                if len(body) > MAX_ANSWER_BYTES:
                    raise ValueError(f"{url} answers with more than {MAX_ANSWER_BYTES} bytes")
            return body.decode()


def _folder(spool: Path | str | None) -> Path | None:
    """The spool, if it takes any disk of ours."""
    return None if spool is None or "://" in str(spool) else Path(spool)


def _disk_free(directories: Mapping[str, Path | None]) -> dict[str, float]:
    found: dict[str, float] = {}
    for what, directory in directories.items():
        if directory is not None and directory.is_dir():
            usage = shutil.disk_usage(directory)
            found[what] = usage.free / usage.total
    return found
