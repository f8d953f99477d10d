"""``odradek explain``: the whole life of one URL."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from infra.devstack.local import readable
from infra.errors import UserError
from infra.explain import Fact
from infra.kafka.admin import Topics
from infra.kafka.control import Control
from infra.kafka.topics import TopicName
from infra.life import chosen, life_of, parse
from infra.settings import Settings, load
from infra.terminal import printable
from schemas.orders import Orders
from schemas.records import Crawl


def explain(
    url: Annotated[str, typer.Argument(help="The URL, in any form.")],
    crawl: Annotated[str | None, typer.Option(help="The crawl; the newest by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
    data_dir: Annotated[Path | None, typer.Option(help="Where the crawl's data are.")] = None,
) -> None:
    """Tell why a URL was or was not crawled: scope, orders, robots.txt, what it waits for, fetches, documents, rows.

    Works while a crawl runs and after it. Exit codes: 0 told, 2 no such crawl or nothing to read.
    """
    settings = load(**({} if data_dir is None else {"data_dir": data_dir}))
    target = parse(url)
    with readable(settings) as connected:
        definition, orders = _control(connected, crawl)
        life = life_of(connected, target, definition, orders)
    if as_json:
        print(json.dumps(life.as_json()))
        return
    _show(life.facts)


def _show(found: list[Fact]) -> None:
    """One line each: what holds now, then what happened."""
    console = Console()
    for each in found:
        at = "now" if each.at is None else f"{each.at:%Y-%m-%d %H:%M:%S}.{each.at.microsecond // 1000:03}"
        console.print(Text(f"{at:<23}  {each.source:<14}  {printable(each.text)}"), soft_wrap=True)


def _control(settings: Settings, name: str | None) -> tuple[Crawl, Orders]:
    if TopicName.CONTROL not in Topics(settings).partition_counts():
        raise UserError("Kafka lacks the pipeline's topics: nothing was crawled with it")
    control = Control(settings, "odradek-explain")
    control.start()
    try:
        return chosen(control, name), control.orders()
    finally:
        control.stop()
