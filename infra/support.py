"""An archive for whoever is asked for help: what is installed, set, alive and logged, and no secret."""

import io
import json
import re
import tarfile
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from importlib.metadata import distributions
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, SecretStr

from infra.kafka.admin import Topics
from infra.kafka.heartbeats import Heartbeats
from infra.kafka.lag import LagReader
from infra.settings import Settings
from infra.settings.live import leaves
from infra.settings.origin import MASK, is_secret, shown
from infra.telemetry.logs import redact

LOG_BYTES = 2 * 2**20
"""Of the end of each log."""
_ANSWER_WITHIN = timedelta(seconds=5)
_SHORTEST_SECRET = 4
"""What is shorter would blacken half the archive and hide nothing."""


def write(target: Path, settings: Settings, findings: Iterable[Mapping[str, object]]) -> list[str]:
    """Write the archive, whole or not at all; returns the names of its parts.

    A part that cannot be had holds the reason. Every text goes without the user info of URLs and without the values of
    secret settings, wherever they stand.
    """
    hidden = secrets(settings)
    parts: dict[str, str] = {"doctor.json": json.dumps(list(findings), indent=2)}
    for name, make in _parts(settings):
        try:
            parts[name] = make()
        except Exception as error:  # an archive without one part is better than none
            parts[name] = f"cannot be had: {type(error).__name__}: {error}\n"
    draft = target.with_name(f"{target.name}.part")
    with tarfile.open(draft, "w:gz") as archive:
        for name, text in parts.items():
            _add(archive, name, scrubbed(text, hidden))
    draft.replace(target)
    return list(parts)


def _add(archive: tarfile.TarFile, name: str, text: str) -> None:
    content = text.encode("utf-8", "replace")
    entry = tarfile.TarInfo(f"odradek-support/{name}")
    entry.size, entry.mtime, entry.mode = len(content), int(datetime.now(UTC).timestamp()), 0o600
    archive.addfile(entry, io.BytesIO(content))


def _parts(settings: Settings) -> Iterator[tuple[str, Callable[[], str]]]:
    yield "settings.json", lambda: json.dumps([each._asdict() for each in shown(settings)], indent=2)
    yield "packages.txt", _packages
    if settings.kafka_bootstrap_servers:
        yield "topics.json", lambda: json.dumps(Topics(settings).partition_counts(), indent=2)
        yield "drift.json", lambda: json.dumps([each._asdict() for each in Topics(settings).drift()], indent=2)
        yield "lag.json", lambda: _lag(settings)
        yield "workers.json", lambda: json.dumps(_workers(settings), indent=2)
        for worker in _known(settings):
            yield f"metrics/{worker['worker']}.txt", lambda url=worker["url"]: _get(f"{url}/metrics")  # type: ignore[misc]
    for log in sorted((settings.data_dir / "logs").glob("*.log")):
        yield f"logs/{log.name}", lambda log=log: _end_of(log)  # type: ignore[misc]  # each its own


def _packages() -> str:
    return "".join(sorted(f"{each.metadata['Name']}=={each.version}\n" for each in distributions()))


def _lag(settings: Settings) -> str:
    offsets = LagReader(settings).read()
    return json.dumps({group: offsets.lag(group) for group in offsets.groups}, indent=2)


def _workers(settings: Settings) -> list[dict[str, Any]]:
    with closing(Heartbeats(settings, gone_after=timedelta(hours=1))) as heartbeats:
        return [beat.model_dump(mode="json") for beat in heartbeats.read()]


def _known(settings: Settings) -> list[dict[str, Any]]:
    try:
        return _workers(settings)
    except Exception:  # the part of the workers tells why
        return []


def _get(url: str) -> str:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=_ANSWER_WITHIN.total_seconds()) as answer:
        return str(answer.read().decode("utf-8", "replace"))


def _end_of(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LOG_BYTES))
        return file.read().decode("utf-8", "replace")


def secrets(settings: Settings) -> set[str]:
    """Every value that must stand nowhere: of secret settings, and the user info of every URL among the others."""
    found: set[str] = set()
    for place, value in leaves(settings):
        for name, text in _texts(".".join(place), value):
            userinfo = urlsplit(text).netloc.rpartition("@")[0] if "://" in text else ""
            written = {text} if is_secret(name) and "://" not in text else set()
            written |= {userinfo, userinfo.partition(":")[2]}
            found |= {each for part in written for each in (part, unquote(part))}
    return {each for each in found if len(each) >= _SHORTEST_SECRET}


def _texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every text within a value, with the name that it stands under."""
    match value:
        case SecretStr():
            yield f"{name}.secret", value.get_secret_value()
        case BaseModel():
            for part in type(value).model_fields:
                yield from _texts(f"{name}.{part}", getattr(value, part))
        case Mapping():
            for key, part in value.items():
                yield from _texts(f"{name}.{key}", part)
        case list() | tuple() | set() | frozenset():
            for part in value:
                yield from _texts(name, part)
        case str():
            yield name, value


def scrubbed(text: str, hidden: Iterable[str]) -> str:
    """``text`` with each of ``hidden``, and the user info of every URL, masked."""
    text = redact(text)
    longest_first = sorted(hidden, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest_first)), MASK, text) if longest_first else text
