"""Apache Kafka's jars in the cache, each checked against the lock file.

``kafka.lock.toml`` names every jar with its SHA-256. The first use fetches them by jgo, in pure Python; later uses do
not touch the network. ``python -m infra.devstack.jars`` writes the lock file anew from :data:`ENDPOINT`.
"""

import fcntl
import hashlib
import os
import shutil
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from infra.errors import UserError

if TYPE_CHECKING:
    from jgo.maven import MavenContext

ENDPOINT = "org.apache.kafka:kafka_2.13:4.3.0+org.slf4j:slf4j-nop:1.7.36"
LOCK = Path(__file__).with_name("kafka.lock.toml")

_PARALLEL = 8


class Jar(NamedTuple):
    """One line of the lock file."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        """The jar's name in a directory of jars."""
        return f"{self.artifact}-{self.version}.jar"


def cache_dir() -> Path:
    """Where downloads are kept between runs (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "odradek"


def locked(path: Path = LOCK) -> list[Jar]:
    """The jars of the lock file."""
    return [Jar(**each) for each in tomllib.loads(path.read_text())["jar"]]


def class_path(cache: Path | None = None) -> list[Path]:
    """Every jar, present and checked. Raises :class:`UserError` when one cannot be had or is not what it should be."""
    jars = locked()
    lock_hash = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]
    directory = (cache or cache_dir()) / f"kafka-{lock_hash}"
    complete = directory / ".complete"
    # Checked when it was fetched; a directory is complete or not there at all.
    if not complete.is_file():
        directory.mkdir(parents=True, exist_ok=True)
        with _only_one(directory):
            if not complete.is_file():
                _fetch_all(jars, directory)
                complete.touch()
    return [directory / jar.file_name for jar in jars]


@contextmanager
def _only_one(directory: Path) -> Iterator[None]:
    with (directory / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch_all(jars: list[Jar], directory: Path) -> None:
    from jgo.maven import MavenContext  # noqa: PLC0415  # half a second, needed once in the life of a cache

    print(f"fetching Apache Kafka ({len(jars)} jars) into {directory}, once", file=sys.stderr, flush=True)
    context = MavenContext(repo_cache=directory / ".repository", local_repos=[], timeout=60)
    try:
        with ThreadPoolExecutor(_PARALLEL) as pool:
            list(pool.map(lambda jar: _fetch(context, jar, directory), jars))
    except UserError:
        raise
    except Exception as error:  # jgo raises whatever its parser or the network raises
        raise UserError(
            f"Apache Kafka cannot be fetched: {error}. Go online once, or set KAFKA_BOOTSTRAP_SERVERS"
        ) from None
    shutil.rmtree(directory / ".repository", ignore_errors=True)


def _fetch(context: "MavenContext", jar: Jar, directory: Path) -> None:
    target = directory / jar.file_name
    if target.is_file() and _sha256(target) == jar.sha256:
        return
    fetched = context.project(jar.group, jar.artifact).at_version(jar.version).artifact().resolve()
    found = _sha256(fetched)
    if found != jar.sha256:
        fetched.unlink()
        raise UserError(
            f"{jar.file_name} has checksum {found}, but the lock file says {jar.sha256}: something between here and "
            "the repository changed it. Nothing was kept; try another network, or set KAFKA_BOOTSTRAP_SERVERS"
        )
    fetched.replace(target)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_lock(path: Path = LOCK) -> None:
    """Resolve :data:`ENDPOINT` and write what it needs today."""
    from jgo import resolve  # noqa: PLC0415  # as above

    lines = ["# Written by `python -m infra.devstack.jars`. Every jar of the embedded Kafka.\n"]
    for artifact in resolve(ENDPOINT):
        jar = Jar(artifact.groupId, artifact.artifactId, artifact.version, _sha256(artifact.resolve()))
        lines.append("\n[[jar]]\n" + "".join(f'{name} = "{value}"\n' for name, value in jar._asdict().items()))
    path.write_text("".join(lines))


if __name__ == "__main__":
    write_lock()
