"""The ``odradek`` command: one module for each subcommand; stages add theirs by entry point.

Exit codes: 0 done, 1 failed, 2 something the user can mend (said in one line), 130 interrupted.
"""

import sys
from importlib.metadata import entry_points

import typer

from infra.cli.crawl import crawl
from infra.cli.doctor import doctor
from infra.cli.run import run
from infra.cli.seed import seed
from infra.cli.status import status
from infra.cli.topics import topics
from infra.errors import UserError

COMMANDS = "odradek.commands"


def build() -> typer.Typer:
    """The whole command."""
    app = typer.Typer(
        name="odradek",
        help="A distributed web crawler: a Kafka stream-processing pipeline. Start with `odradek crawl URL`.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.command()(crawl)
    app.command()(seed)
    app.command()(run)
    app.command()(status)
    app.add_typer(topics, name="topics")
    app.command()(doctor)
    for extension in sorted(entry_points(group=COMMANDS)):
        app.command(extension.name)(extension.load())
    return app


def main() -> None:
    """Entry point of the console script."""
    try:
        build()()
    except UserError as error:
        print(f"odradek: {error}", file=sys.stderr)
        sys.exit(2)
