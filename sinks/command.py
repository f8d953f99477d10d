"""``odradek sinks``: write again to a store what it has, or should have, been given."""

import asyncio
import signal
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from infra.agents.settling import GivenUp
from infra.cli.arguments import moment
from infra.devstack.local import readable
from infra.errors import UserError
from infra.kafka.admin import Topics
from infra.kafka.group_offsets import Start, rewind
from infra.kafka.lag import Place
from infra.kafka.topics import TopicName
from infra.settings import Settings, load
from infra.settings.sinks import StoreSettings
from infra.settings.stores import stores
from sinks.replay import Replay
from sinks.stores import group

sinks = typer.Typer(help="Write to a store again what Kafka has kept.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="STORE", help="Its name in the settings.")]
Since = Annotated[str | None, typer.Option(help="ISO 8601; from the first record that is not older.")]
From = Annotated[
    list[str] | None,
    typer.Option("--from", metavar="TOPIC/PARTITION/OFFSET", help="From there, and of no other partition; repeatable."),
]
Beginning = Annotated[bool, typer.Option("--beginning", help="From the oldest record that Kafka has.")]
OfTopics = Annotated[list[str] | None, typer.Option("--topic", help="Only this one of its topics; repeatable.")]
DataDir = Annotated[Path | None, typer.Option(help="Where the crawl's data are.")]


@sinks.command("replay")
def replay_store(
    name: Name,
    *,
    into: Annotated[
        str | None, typer.Option(help="Another store instead: its name, or a DSN (others may read your command line).")
    ] = None,
    since: Since = None,
    places: From = None,
    beginning: Beginning = False,
    until: Annotated[str | None, typer.Option(help="ISO 8601; not what came from then on.")] = None,
    topics: OfTopics = None,
    data_dir: DataDir = None,
) -> None:
    """Read what the store is fed from, from a time or offset to the present, and write it to the store or another one.

    Rows that are there already stay one row. The store may be fed meanwhile; its group's offsets do not move. Only the
    embedded ClickHouse takes one writer at a time: for it, see `odradek sinks rewind`. Exit codes: 0 written, 1 stopped
    by you, 2 a mistake.
    """
    settings = _settings(data_dir)
    start = _start(since, places, beginning)
    store = _of_topics(_store(settings, name), topics)
    target, other = _target(settings, name, into)
    chosen = other.model_copy(update={"topics": store.topics})
    with readable(settings) as connected:
        work = Replay(connected, target, chosen, start, moment(until))
        partitions = Topics(connected).partition_counts()
        _check(start.places, store, partitions)
        rows = asyncio.run(_run(work, partitions))
    told = ", ".join(f"{count:,} {table.removeprefix('rows_')}" for table, count in rows.items())
    typer.echo(f"{work.read:,} records read, given to {target}: {told}")


@sinks.command("rewind")
def rewind_store(
    name: Name,
    *,
    since: Since = None,
    places: From = None,
    beginning: Beginning = False,
    topics: OfTopics = None,
    data_dir: DataDir = None,
) -> None:
    """Set the group of a store back: when the sinks feed it again, it is given everything from there once more.

    Nobody may feed it meanwhile: stop the sinks, or take the store out of `sinks.file`. Never moves an offset forward.
    """
    settings = _settings(data_dir)
    start = _start(since, places, beginning)
    store = _of_topics(_store(settings, name), topics)
    with readable(settings) as connected:
        _check(start.places, store, Topics(connected).partition_counts())
        moved = rewind(connected, group(name), map(TopicName, store.topics), start)
    for each in moved:
        typer.echo(f"{each.place[0]}/{each.place[1]}: {each.before} -> {each.after}")
    records = sum(each.before - each.after for each in moved)
    typer.echo(f"{records:,} records come again" if moved else "nothing to set back")


async def _run(work: Replay, partitions: Mapping[str, int]) -> Mapping[str, int]:
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stopping.set)
    try:
        return await work.run(partitions, stopping, _progress)
    except GivenUp:
        raise typer.Exit(1) from None


def _progress(read: int) -> None:
    if sys.stderr.isatty():
        typer.echo(f"\r{read:,} records", nl=False, err=True)


def _settings(data_dir: Path | None) -> Settings:
    return load(**({} if data_dir is None else {"data_dir": data_dir}))


def _store(settings: Settings, name: str) -> StoreSettings:
    known = stores(settings.sinks)
    if name not in known:
        raise UserError(f"there is no store {name!r}; there are: {', '.join(sorted(known)) or 'none'}")
    return known[name]


def _of_topics(store: StoreSettings, topics: Sequence[str] | None) -> StoreSettings:
    if topics and (strange := [each for each in topics if each not in store.topics]):
        raise UserError(f"the store is not fed from {', '.join(strange)}; it is from: {', '.join(store.topics)}")
    return store if not topics else store.model_copy(update={"topics": tuple(topics)})


def _target(settings: Settings, name: str, into: str | None) -> tuple[str, StoreSettings]:
    """Where to write, and the name for it: the store itself, another of the settings, or what a DSN means."""
    if into is None:
        return name, _store(settings, name)
    if ":" not in into:
        return into, _store(settings, into)
    # Everything else is as the store has it: what it is for, and how large its writes are.
    return f"{name}-replay", _store(settings, name).model_copy(update={"dsn": into})


def _start(since: str | None, places: Sequence[str] | None, beginning: bool) -> Start:
    if [since is not None, bool(places), beginning].count(True) != 1:
        raise UserError("say from where: --since TIME, --from TOPIC/PARTITION/OFFSET or --beginning")
    found: datetime | None = moment(since)
    return Start(found, dict(map(_place, places or ())))


def _place(text: str) -> tuple[Place, int]:
    topic, _, rest = text.partition("/")
    partition, _, offset = rest.partition("/")
    if topic not in set(TopicName) or not (partition.isdecimal() and offset.isdecimal()):
        raise UserError(f"{text!r} is no place; one is documents/3/1200")
    return (topic, int(partition)), int(offset)


def _check(places: Mapping[Place, int], store: StoreSettings, partitions: Mapping[str, int]) -> None:
    for topic, number in places:
        if topic not in store.topics:
            raise UserError(f"the store is not fed from {topic}; it is from: {', '.join(store.topics)}")
        if number >= partitions.get(topic, 0):
            raise UserError(f"topic {topic} has no partition {number}")
