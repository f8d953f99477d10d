"""``odradek replay``: stored pages through this cleaner, judged before anybody reads them."""

import asyncio
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from infra.devstack.local import readable
from infra.errors import UserError
from infra.kafka.admin import Topics
from infra.kafka.topics import TopicName
from infra.settings import Settings, load
from infra.shadow import Comparison, shadows, usable_name
from infra.terminal import printable
from streams.clean import VERSION
from streams.cleaners import installed
from streams.replay import Replay, Tally, Wanted
from streams.rules.compiled import NO_RULES
from streams.rules.source import load as load_rules
from streams.sites import Sites

_AROUND_CHARS = 60

replay = typer.Typer(
    help="Clean stored pages anew with this cleaner into a table of their own, see what differs, promote or drop it."
)

DataDir = Annotated[Path | None, typer.Option(help="Where the crawl's data are.")]
Samples = Annotated[int, typer.Option(min=0, max=100, help="Differences of each field that are shown.")]
Json = Annotated[bool, typer.Option("--json", help="For scripts.")]


@replay.callback(invoke_without_command=True)
def run(  # noqa: PLR0913  # options of a command
    context: typer.Context,
    *,
    since: Annotated[str | None, typer.Option(help="ISO 8601; pages that came before are left out.")] = None,
    until: Annotated[str | None, typer.Option(help="ISO 8601; pages that came from then on are left out.")] = None,
    crawl: Annotated[str | None, typer.Option(help="Only this crawl.")] = None,
    host: Annotated[str | None, typer.Option(help="Only this host.")] = None,
    cleaner: Annotated[
        str, typer.Option(help="The version that is meant: refused when this is another one.")
    ] = VERSION,
    rules: Annotated[Path | None, typer.Option(help="Per-site rules: a TOML file or a folder of them.")] = None,
    name: Annotated[str | None, typer.Option(help="Of the replay; its time by default.")] = None,
    samples: Samples = 3,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Read the topic `pages`, clean, write to a shadow table, compare it with `documents`.

    Nothing that is read changes until `odradek replay promote NAME`. After a crawl it starts the embedded Kafka for it.
    Exit codes: 0 replayed, 2 nothing to read or to write to.
    """
    if context.invoked_subcommand is not None:
        return
    if cleaner != VERSION:
        raise UserError(f"this installation cleans as {VERSION}, not {cleaner}: install the version that is meant")
    settings = _settings(data_dir)
    name = usable_name(name or f"r{datetime.now(UTC):%Y%m%d_%H%M%S}")
    wanted = Wanted(_moment(since), _moment(until), crawl, host)
    chosen = rules or settings.streams.rules
    sites = Sites(load_rules(chosen) if chosen is not None else NO_RULES, installed())
    with readable(settings) as connected, shadows(settings) as store:
        partitions = Topics(connected).partition_counts().get(TopicName.PAGES)
        if partitions is None:
            raise UserError("Kafka lacks the pipeline's topics: nothing was crawled with it")
        about = {"cleaner": VERSION, "rules": sites.rules.version, "since": since, "until": until, "crawl": crawl}
        store.create(name, json.dumps(about | {"host": host}))
        work = Replay(connected, sites, lambda documents: store.write(name, documents), _tell)
        tally = asyncio.run(work.run(partitions, wanted))
        found = store.compare(name, samples)
    _report(_Report(name, found, tally), as_json=as_json)


@replay.command("list")
def list_replays(as_json: Json = False, data_dir: DataDir = None) -> None:
    """The replays that wait to be judged."""
    with shadows(_settings(data_dir)) as store:
        found = store.present()
    if as_json:
        sys.stdout.write(json.dumps([each._asdict() for each in found], indent=2) + "\n")
        return
    for each in found:
        sys.stdout.write(f"{each.name}  {each.rows} rows  {printable(each.about)}\n")
    if not found:
        sys.stdout.write("no replay waits to be judged\n")


@replay.command()
def compare(name: str, samples: Samples = 3, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Compare a replay with the documents that are there now."""
    with shadows(_settings(data_dir)) as store:
        found = store.compare(name, samples)
    _report(_Report(name, found, None), as_json=as_json)


@replay.command()
def promote(name: str, data_dir: DataDir = None) -> None:
    """Let its documents take the place of those of the same visits."""
    with shadows(_settings(data_dir)) as store:
        count = store.promote(name)
    sys.stdout.write(f"promoted {name}: {count} documents\n")


@replay.command()
def drop(name: str, data_dir: DataDir = None) -> None:
    """Forget a replay."""
    with shadows(_settings(data_dir)) as store:
        store.drop(name)
    sys.stdout.write(f"dropped {name}\n")


class _Report(NamedTuple):
    name: str
    found: Comparison
    tally: Tally | None


def _settings(data_dir: Path | None) -> Settings:
    return load(**({} if data_dir is None else {"data_dir": data_dir}))


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise UserError(f"{text!r} is no ISO 8601 time; one is 2026-01-31T12:00:00+00:00") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _tell(tally: Tally) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{tally.read:,} records read, {tally.cleaned:,} pages cleaned ")


def _report(report: _Report, *, as_json: bool) -> None:
    found, tally = report.found, report.tally
    if as_json:
        shown = {"name": report.name, "replayed": None if tally is None else vars(tally)} | {
            "rows": found.rows,
            "without_row": found.without_row,
            "same": found.same,
            "differences": [
                each._asdict() | {"samples": [sample._asdict() for sample in each.samples]}
                for each in found.differences
            ],
        }
        sys.stdout.write(json.dumps(shown, ensure_ascii=False, indent=2) + "\n")
        return
    if tally is not None:
        sys.stdout.write(
            f"{tally.read:,} records read, {tally.cleaned:,} pages cleaned, {tally.unreadable:,} unreadable\n"
        )
    sys.stdout.write(
        f"replay {report.name}: {found.rows:,} documents, {found.same:,} the same, "
        f"{found.without_row:,} not beside one\n"
    )
    for each in found.differences:
        sys.stdout.write(
            f"\n{each.field}: {each.changed:,} differ, {each.appeared:,} appeared, {each.vanished:,} vanished\n"
        )
        for sample in each.samples:
            before, now = excerpts(sample.before, sample.now)
            sys.stdout.write(f"  {sample.url} visit {sample.visit}\n  - {printable(before)}\n  + {printable(now)}\n")
    sys.stdout.write(f"\nodradek replay promote {report.name}   or   odradek replay drop {report.name}\n")


def excerpts(before: str, now: str) -> tuple[str, str]:
    """Both texts from a little before where they begin to differ to a little behind, in one line each."""
    place = next(
        (place for place, (one, other) in enumerate(zip(before, now, strict=False)) if one != other),
        min(len(before), len(now)),
    )
    start = max(0, place - _AROUND_CHARS)
    return _excerpt(before, start, place), _excerpt(now, start, place)


def _excerpt(text: str, start: int, place: int) -> str:
    end = place + _AROUND_CHARS
    shown = text[start:end].replace("\n", "\u23ce")
    return f"{'...' if start else ''}{shown}{'...' if end < len(text) else ''}"
