"""The ``odradek`` command: one module for each subcommand; stages add theirs by entry point.

Exit codes: 0 done, 1 failed, 2 something the user can mend (said in one line), 130 interrupted.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import typer

from infra.errors import Failure, Fatal, UserError

EXTENSIONS = "odradek.commands"
COMMANDS = {
    "crawl": "infra.cli.crawl:crawl",
    "seed": "infra.cli.seed:seed",
    "run": "infra.cli.run:run",
    "status": "infra.cli.status:status",
    "control": "infra.cli.control:control",
    "topics": "infra.cli.topics:topics",
    "dead-letters": "infra.cli.dead_letters:dead_letters",
    "explain": "infra.cli.explain:explain",
    "doctor": "infra.cli.doctor:doctor",
}


def build(only: str | None = None) -> typer.Typer:
    """The whole command, or what is needed for one subcommand: the others' libraries cost seconds to import."""
    app = typer.Typer(
        name="odradek",
        help="A distributed web crawler: a Kafka stream-processing pipeline. Start with `odradek crawl URL`.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    # Keeps subcommands subcommands, also when there is one alone.
    app.callback()(lambda: None)
    places = COMMANDS | {each.name: each.value for each in entry_points(group=EXTENSIONS)}
    for name, place in places.items():
        if only is None or only == name or only not in places:
            _add(app, name, place)
    return app


def _add(app: typer.Typer, name: str, place: str) -> None:
    module, _, attribute = place.partition(":")
    command: Callable[..., Any] | typer.Typer = getattr(import_module(module), attribute)
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name)
    else:
        app.command(name)(command)


def main() -> None:
    """Entry point of the console script."""
    try:
        build(sys.argv[1] if len(sys.argv) > 1 else None)()
    except UserError as error:
        print(f"odradek: {error}", file=sys.stderr)
        sys.exit(2)
    except (Failure, Fatal) as error:
        print(f"odradek: {error}", file=sys.stderr)
        sys.exit(1)
