"""``odradek config``: the settings in force, and what a file would make of them."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from infra.settings import read
from infra.settings.files import files
from infra.settings.origin import shown

config = typer.Typer(
    help="Show the settings in force and where each comes from; check their files.", no_args_is_help=True
)


@config.command()
def show(
    name: Annotated[str, typer.Argument(help="Only settings whose names hold this.")] = "",
    changed: Annotated[bool, typer.Option("--changed", help="Only what is not the default.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
) -> None:
    """Show every setting, its value and its origin: default, file, environment or flag. Secrets are masked."""
    found = [each for each in shown(read()) if name in each.name and not (changed and each.origin == "default")]
    if as_json:
        print(json.dumps([each._asdict() for each in found], indent=2))
        return
    table = Table("setting", "value", "origin", "a change in the file", box=None, header_style="bold")
    for each in found:
        effect = "is taken while running" if each.live else "wants a restart"
        table.add_row(*map(Text, (each.name, each.value, each.origin, effect)))
    Console().print(table if found else "no setting fits")


@config.command()
def check() -> None:
    """Read the files and the environment as a start would. Exit codes: 0 valid, 2 wrong, and what."""
    read()
    named = ", ".join(map(str, files())) or "no file is named"
    print(f"valid: {named}")
