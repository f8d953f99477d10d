"""``odradek dead-letters``: what could not be used, and another chance for it."""

import base64
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from infra.cli.arguments import canonical_host, moment, user
from infra.dead_letters.ledger import Entry, contents
from infra.dead_letters.originals import Letter
from infra.dead_letters.redrive import Redrive, Report
from infra.dead_letters.selection import Selection
from infra.devstack.local import readable
from infra.errors import UserError
from infra.settings import load
from infra.terminal import printable
from schemas.letters import LetterState

dead_letters = typer.Typer(
    help="Records that a stage could not use: list them, look at them, send them again, drop them.",
    no_args_is_help=True,
)

Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Letters, by the first digits of their ids.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="A letter, by the first digits of its id.")]
Stage = Annotated[str | None, typer.Option(help="Only those that this stage gave up on.")]
Reason = Annotated[str | None, typer.Option(help="Only those of this reason.")]
Topic = Annotated[str | None, typer.Option(help="Only those that came from this topic.")]
Host = Annotated[str | None, typer.Option(help="Only those about this host.")]
Since = Annotated[str | None, typer.Option(help="ISO 8601; not the earlier ones.")]
Until = Annotated[str | None, typer.Option(help="ISO 8601; not this moment and later.")]
AsJson = Annotated[bool, typer.Option("--json", help="For scripts.")]
Everything = Annotated[bool, typer.Option("--everything", help="All that are open, where nothing else narrows it.")]
DataDir = Annotated[Path | None, typer.Option(help="Where the crawl's data are.")]

_SHOWN_BYTES = 2_000
_REQUEUE = """Send records again to the topics that they came from: same bytes, key and headers. Each goes once.

What was requeued or dropped before is left alone: the command may be repeated, also after a crash in its midst. Exit
codes: 0 done, 1 some cannot be sent, 2 something you can mend."""
_DROP = "Write down that nobody wants these letters: they are open no more. Their bytes stay until retention ends."


@dead_letters.command("list")
def list_letters(  # noqa: PLR0913  # one for each option
    *,
    stage: Stage = None,
    reason: Reason = None,
    topic: Topic = None,
    host: Host = None,
    since: Since = None,
    until: Until = None,
    everything: Annotated[bool, typer.Option("--all", help="Those that were requeued or dropped too.")] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List the open dead letters, oldest first. Works while a crawl runs and after it."""
    wanted = _selection(None, stage=stage, reason=reason, topic=topic, host=host, since=since, until=until)
    with _redrive(data_dir) as redrive:
        now = datetime.now(UTC)
        found = [
            each for each in wanted.of(redrive.ledger) if everything or each.state(now) in (None, LetterState.CLAIMED)
        ]
    if as_json:
        print(json.dumps([_plain(each, now) for each in found], indent=2))
        return
    table = Table("id", "at", "stage", "reason", "record", "host", "state", "error", box=None, header_style="bold")
    for each in found:
        at, place = f"{each.at:%Y-%m-%d %H:%M:%S}", f"{each.topic}/{each.partition}/{each.offset}"
        words = (each.letter_id[:8], at, each.stage, each.reason, place, each.host or "", _state(each, now), each.error)
        table.add_row(*(Text(printable(word)) for word in words))
    Console().print(table if found else "no dead letter")


@dead_letters.command()
def show(
    letter: Id,
    as_json: AsJson = False,
    value: Annotated[
        bool, typer.Option("--value", help="Write the record's original bytes, and nothing else.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Show one letter with its record: read by its contract where one fits, else as text."""
    with _redrive(data_dir) as redrive:
        found = next(redrive.letters(Selection((letter,)).of(redrive.ledger)), None)
        now = datetime.now(UTC)
    if found is None:
        raise UserError(f"dead letter {letter!r} is gone: retention took it just now")
    if value:
        sys.stdout.buffer.write(found.content.value or b"")
    elif as_json:
        print(json.dumps(_whole(found, now), indent=2))
    else:
        for name, word in _whole(found, now).items():
            if name not in ("key", "value"):
                print(f"{name + ':':<12} {printable(word if isinstance(word, str) else json.dumps(word))}")
        print(f"{'value:':<12} {_preview(found)}")


def _resolver(state: LetterState) -> Callable[..., None]:
    """The command that resolves letters so."""

    def resolve(  # noqa: PLR0913  # one for each option
        letters: Ids = None,
        *,
        stage: Stage = None,
        reason: Reason = None,
        topic: Topic = None,
        host: Host = None,
        since: Since = None,
        until: Until = None,
        everything: Everything = False,
        as_json: AsJson = False,
        data_dir: DataDir = None,
    ) -> None:
        wanted = _selection(letters, stage=stage, reason=reason, topic=topic, host=host, since=since, until=until)
        if not wanted.narrows and not everything:
            raise UserError("say which: ids, --stage, --reason, --topic, --host, --since, --until or --everything")
        with _redrive(data_dir) as redrive:
            report = redrive.resolve(wanted.of(redrive.ledger), state)
        print(json.dumps(report.__dict__, indent=2) if as_json else "\n".join(_told(report, state)))
        raise typer.Exit(1 if report.impossible else 0)

    return resolve


dead_letters.command("requeue", help=_REQUEUE)(_resolver(LetterState.REQUEUED))
dead_letters.command("drop", help=_DROP)(_resolver(LetterState.DROPPED))


def _told(report: Report, state: LetterState) -> Iterator[str]:
    yield f"{len(report.done)} {state}"
    if report.sent_before:
        yield f"{len(report.sent_before)} had been sent by a run that did not end"
    if report.ended:
        yield f"{len(report.ended)} were requeued or dropped before"
    if report.busy:
        yield f"{len(report.busy)} are held by another run; what a run that died held is free after five minutes"
    for letter_id, why in report.impossible.items():
        yield f"{letter_id[:8]} cannot be sent: {why}"


@contextmanager
def _redrive(data_dir: Path | None) -> Iterator[Redrive]:
    with readable(load(**({} if data_dir is None else {"data_dir": data_dir}))) as connected:
        yield Redrive(connected, user())


def _selection(
    ids: Sequence[str] | None, *, host: str | None, since: str | None, until: str | None, **exact: str | None
) -> Selection:
    """The selection that the options mean. Raises :class:`UserError`."""
    named = None if host is None else canonical_host(host)
    return Selection(tuple(ids or ()), host=named, since=moment(since), until=moment(until), **exact)


def _state(entry: Entry, now: datetime) -> str:
    return entry.state(now) or "open"


def _plain(entry: Entry, now: datetime) -> dict[str, object]:
    resolved = entry.resolution
    return {
        "letter_id": entry.letter_id,
        "state": _state(entry, now),
        "at": entry.at.isoformat(),
        "stage": entry.stage,
        "reason": entry.reason,
        "error": entry.error,
        "topic": entry.topic,
        "partition": entry.partition,
        "offset": entry.offset,
        "host": entry.host,
        "attempts": entry.attempts,
        "truncated": entry.truncated,
        "resolved_at": None if resolved is None else resolved.at.isoformat(),
        "resolved_by": None if resolved is None else resolved.by,
    }


def _whole(letter: Letter, now: datetime) -> dict[str, object]:
    """Bytes in base64: nobody can say that they are text."""
    key, value = letter.content.key, letter.content.value
    headers = {name: part.decode(errors="replace") for name, part in letter.headers.items()}
    return _plain(letter.entry, now) | {
        "error": letter.content.error,
        "headers": headers,
        "key": None if key is None else base64.b64encode(key).decode(),
        "value": None if value is None else base64.b64encode(value).decode(),
    }


def _preview(letter: Letter) -> str:
    value = letter.content.value
    if value is None:
        return "not kept: it was too large" if letter.content.truncated else "none"
    record = next(contents(letter.content), None)
    text = repr(record) if record is not None else value[:_SHOWN_BYTES].decode(errors="replace")
    more = f" ... ({len(value):,} bytes)" if max(len(text), len(value)) > _SHOWN_BYTES else ""
    return printable(text[:_SHOWN_BYTES]) + more
