"""Where the embedded engine can be asked while another process owns it: a file beside its directory."""

import os
import urllib.request
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

_PING_TIMEOUT = timedelta(seconds=2)


def path(directory: Path) -> Path:
    """The file for the engine in ``directory``."""
    return directory.with_name(f"{directory.name}.endpoint")


def publish(directory: Path, url: str) -> None:
    """Write the file, whole or not at all."""
    target = path(directory)
    draft = target.with_name(f"{target.name}.{os.getpid()}")
    draft.write_text(f"{url}\n")
    draft.replace(target)


def withdraw(directory: Path) -> None:
    """Remove the file."""
    with suppress(FileNotFoundError):
        path(directory).unlink()


def living(directory: Path) -> str | None:
    """The URL of a door that answers now; ``None`` when nobody serves, also when a killed process left its file."""
    try:
        url = path(directory).read_text().strip()
    except OSError:
        return None
    if not url.startswith("http://"):
        return None
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url}/ping", timeout=_PING_TIMEOUT.total_seconds()) as answer:
            return url if answer.read() == b"Ok.\n" else None
    except OSError:
        return None
