"""``odradek control``: steer running crawls."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from infra.cli.arguments import user
from infra.devstack.local import attach
from infra.kafka.admin import Topics
from infra.kafka.control import Control
from infra.settings import Settings, load
from infra.steering import Steering, Wish, parsed
from schemas.orders import Action

control = typer.Typer(
    help="Pause, stop, block, slow down or prefer: a crawl, a host or what matches a pattern. Orders stay in force "
    "until they are taken back, also over restarts.",
    no_args_is_help=True,
)

Target = Annotated[str, typer.Argument(metavar="SUBJECT:TARGET", help="crawl:NAME, host:NAME or pattern:REGEX.")]
Why = Annotated[str | None, typer.Option("--reason", help="Why, for those who read the list.")]


@control.command()
def pause(target: Target, reason: Why = None) -> None:
    """Release nothing more of a crawl or a host; what waits keeps its place."""
    _give(Action.PAUSE, target, None, reason)


@control.command()
def resume(target: Target) -> None:
    """Take a pause back."""
    _withdraw(Action.PAUSE, target)


@control.command()
def stop(target: Target, reason: Why = None) -> None:
    """End a crawl: what waits is refused, what is being fetched is finished."""
    _give(Action.STOP, target, None, reason)


@control.command()
def block(target: Target, reason: Why = None) -> None:
    """Fetch nothing more of a host, or of what matches a pattern, in any crawl."""
    _give(Action.BLOCK, target, None, reason)


@control.command()
def unblock(target: Target) -> None:
    """Take a block back. What was refused meanwhile stays refused."""
    _withdraw(Action.BLOCK, target)


@control.command()
def delay(target: Target, seconds: float, reason: Why = None) -> None:
    """Set the seconds between two requests to a host; a robots.txt may still ask for more."""
    _give(Action.DELAY, target, seconds, reason)


@control.command()
def budget(target: Target, pages: int, reason: Why = None) -> None:
    """Set how many pages a crawl may ask for, over all."""
    _give(Action.BUDGET, target, pages, reason)


@control.command()
def priority(target: Target, amount: Annotated[int, typer.Argument(help="-100 to 100.")], reason: Why = None) -> None:
    """Let what is found from now on go before others (or after them, below 0)."""
    _give(Action.PRIORITY, target, amount, reason)


@control.command()
def undo(action: Action, target: Target) -> None:
    """Take any order back."""
    _withdraw(action, target)


@control.command("list")
def list_orders(as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False) -> None:
    """The orders in force, newest last."""
    with _connected() as (_, followed):
        found = followed.ordered()
    if as_json:
        print(json.dumps([{"version": version, **order.model_dump(mode="json")} for version, order in found], indent=2))
        return
    table = Table("version", "action", "target", "amount", "by", "at", "reason", box=None, header_style="bold")
    for version, order in found:
        amount = "" if order.amount is None else f"{order.amount:g}"
        at = f"{order.ordered_at:%Y-%m-%d %H:%M:%S}"
        subject = f"{order.subject}:{order.target}"
        table.add_row(str(version), order.action, subject, amount, order.by, at, order.reason or "")
    Console().print(table if found else "no order is in force")


def _give(action: Action, target: str, amount: float | None, reason: str | None) -> None:
    subject, name = parsed(target)
    with _connected() as (settings, followed):
        order = Steering(settings, followed).give(Wish(action, subject, name, amount, reason), user())
    print(f"in force: {order.action} {order.subject}:{order.target}")


def _withdraw(action: Action, target: str) -> None:
    subject, name = parsed(target)
    with _connected() as (settings, followed):
        Steering(settings, followed).withdraw(Wish(action, subject, name), user())
    print(f"taken back: {action} {subject}:{name}")


@contextmanager
def _connected() -> Iterator[tuple[Settings, Control]]:
    settings = attach(load())
    Topics(settings).partition_counts()
    followed = Control(settings, "odradek-control")
    followed.start()
    try:
        yield settings, followed
    finally:
        followed.stop()
