"""``odradek signatures``: keys for Web Bot Auth, and the directory that sites find them in."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from fetchers.signatures import DIRECTORY_PATH, DIRECTORY_TYPE, directory, new_key, read_key
from infra.errors import UserError

app = typer.Typer(help="Keys that requests are signed with, and the directory that sites find them in.")


@app.command()
def key(path: Annotated[Path, typer.Argument(help="The file to be made; it must not exist.")]) -> None:
    """Make a key, readable by its owner alone. Set it as fetchers.headers.signatures.key_file."""
    try:
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise UserError(f"no key is made: {error}") from None
    with os.fdopen(opened, "wb") as file:
        file.write(new_key())


@app.command(name="directory")
def show_directory(
    paths: Annotated[list[Path], typer.Argument(help="Key files: while keys are changed, the new one and the old.")],
) -> None:
    """Print the directory of public keys, to be served where fetchers.headers.signatures.agent says."""
    sys.stdout.write(directory([read_key(path) for path in paths]) + "\n")
    sys.stderr.write(f"serve it at {DIRECTORY_PATH} as {DIRECTORY_TYPE}\n")
