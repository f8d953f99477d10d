"""``odradek status``."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from infra.devstack.local import attach
from infra.kafka.admin import Topics
from infra.kafka.heartbeats import Heartbeats
from infra.kafka.lag import LagReader, Offsets
from infra.settings import load
from schemas.records import Heartbeat


def status(as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False) -> None:
    """Stages that live, the lag of every consumer group, and what the frontier holds.

    Exit code 1 when no stage lives.
    """
    settings = attach(load())
    Topics(settings).partition_counts()
    heartbeats, lag = Heartbeats(settings), LagReader(settings)
    beats = heartbeats.read()
    offsets = lag.read()
    heartbeats.close()
    if as_json:
        print(json.dumps(_as_json(beats, offsets), indent=2))
    else:
        _show(Console(), beats, offsets)
    raise typer.Exit(0 if beats else 1)


def _as_json(beats: list[Heartbeat], offsets: Offsets) -> dict[str, object]:
    return {
        "workers": [beat.model_dump(mode="json") for beat in beats],
        "lag": {group: offsets.lag(group) for group in offsets.groups},
    }


def _show(console: Console, beats: list[Heartbeat], offsets: Offsets) -> None:
    workers = Table("worker", "stage", "ready", "partitions", "health", box=None, header_style="bold")
    for beat in beats:
        owned = ", ".join(map(str, sorted(beat.partitions)))
        workers.add_row(beat.worker, beat.stage, "yes" if beat.ready else "no", owned, beat.url)
    console.print(workers if beats else "no stage lives: start one with `odradek run STAGE`")
    lags = Table("consumer group", "topic", "lag", box=None, header_style="bold")
    for group in offsets.groups:
        for topic, behind in offsets.lag(group).items():
            lags.add_row(group, topic, f"{behind:,}")
    console.print()
    console.print(lags)
    counts = Table("figure", "value", box=None, header_style="bold")
    for name, value in sorted(_sum(beats).items()):
        counts.add_row(name, f"{value:,}")
    console.print()
    console.print(counts)


def _sum(beats: list[Heartbeat]) -> dict[str, int]:
    total: dict[str, int] = {}
    for beat in beats:
        for name, value in beat.counts.items():
            total[f"{beat.stage}/{name}"] = total.get(f"{beat.stage}/{name}", 0) + value
    return total
