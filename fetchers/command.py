"""``odradek signatures``: keys for Web Bot Auth. ``odradek proxies``: the proxies of all fetchers."""

import getpass
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from fetchers.proxies import parse_tiers
from fetchers.signatures import DIRECTORY_PATH, DIRECTORY_TYPE, directory, new_key, read_key
from infra.devstack.local import attach
from infra.errors import UserError
from infra.kafka.admin import Topics
from infra.kafka.control import proxies_record
from infra.kafka.producer import Producer
from infra.settings import load
from schemas.records import Proxies

proxies = typer.Typer(help="Proxies that all running fetchers use, beside those of their settings.")
signatures = typer.Typer(help="Keys that requests are signed with, and the directory that sites find them in.")


@signatures.command()
def key(path: Annotated[Path, typer.Argument(help="The file to be made; it must not exist.")]) -> None:
    """Make a key, readable by its owner alone. Set it as fetchers.headers.signatures.key_file."""
    try:
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise UserError(f"no key is made: {error}") from None
    with os.fdopen(opened, "wb") as file:
        file.write(new_key())


@signatures.command(name="directory")
def show_directory(
    paths: Annotated[list[Path], typer.Argument(help="Key files: while keys are changed, the new one and the old.")],
) -> None:
    """Print the directory of public keys, to be served where fetchers.headers.signatures.agent says."""
    sys.stdout.write(directory([read_key(path) for path in paths]) + "\n")
    sys.stderr.write(f"serve it at {DIRECTORY_PATH} as {DIRECTORY_TYPE}\n")


@proxies.command(name="set")
def set_proxies(
    source: Annotated[Path, typer.Argument(help="A URL a line, tiers parted by blank lines; - reads standard input.")],
) -> None:
    """Give all fetchers these proxies, instead of those that were set before. An empty list means to go nowhere."""
    try:
        text = sys.stdin.read() if str(source) == "-" else source.read_text()
        count = sum(map(len, parse_tiers(text)))
    except (OSError, ValueError) as error:
        raise UserError(f"no proxies are set: {error}") from None
    _send(Proxies(text=text, by=getpass.getuser(), at=datetime.now(UTC)))
    sys.stdout.write(f"{count} proxies are set\n")


@proxies.command(name="clear")
def clear_proxies() -> None:
    """Take them back: fetchers go on with those of their settings."""
    _send(None)


def _send(record: Proxies | None) -> None:
    settings = attach(load())
    Topics(settings).partition_counts()
    if missing := Producer(settings, "odradek-proxies").send_all([proxies_record(record)], timedelta(seconds=30)):
        raise UserError(f"Kafka did not take the proxies: {missing[0]}")
