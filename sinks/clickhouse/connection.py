"""The connection that writes: one client of clickhouse-connect, embedded or to a server, with the same calls."""

import sys
from datetime import timedelta
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import clickhouse_connect

from infra.settings import Settings
from sinks.clickhouse.embedded import engine

INSERT_SETTINGS = {
    "insert_deduplicate": "1",
    # A profile that inserts asynchronously would answer before the rows are there, and ignore our token.
    "async_insert": "0",
    "deduplicate_blocks_in_dependent_materialized_views": "1",
    # Repeats inside one block fold with all the others; doing it here costs a sixth of the insert.
    "optimize_on_insert": "0",
    # A replay can reach back over many months; the limit of 100 would refuse it for ever (as 252).
    "max_partitions_per_insert_block": "0",
}
_TIMEOUT = timedelta(seconds=30)


def directory(settings: Settings) -> Path:
    """Where the embedded engine keeps its data."""
    return settings.data_dir / "clickhouse"


def server(settings: Settings, dsn: str) -> str | None:
    """The URL of the server that ``dsn`` means; ``None`` for the embedded engine."""
    scheme, _, rest = dsn.partition(":")
    if scheme == "clickhouse" and not rest.strip("/"):
        return settings.clickhouse_url
    return dsn


def connect_server(url: str, settings: dict[str, Any] | None = None, timeout: timedelta = _TIMEOUT) -> Any:
    """A client for the server at ``url``."""
    parts = urlsplit(url)
    interface = {"http": "http", "https": "https", "clickhouses": "https"}.get(parts.scheme, "http")
    return clickhouse_connect.get_client(
        dsn=url,
        interface=interface,
        connect_timeout=10,
        send_receive_timeout=int(timeout.total_seconds()),
        settings=settings or {},
        # Writes of several topics may overlap, and a session would forbid it.
        autogenerate_session_id=False,
        compress="zstd",
        show_clickhouse_errors="scrub",
    )


def create_database(url: str) -> None:
    """Make the database that the URL names, if it names one that is missing."""
    parts = urlsplit(url)
    name = parts.path.strip("/")
    if not name or name == "default":
        return
    client = connect_server(urlunsplit(parts._replace(path="")))
    try:
        if not client.command("SELECT count() FROM system.databases WHERE name = {name:String}", {"name": name}):
            client.command("CREATE DATABASE IF NOT EXISTS {name:Identifier}", {"name": name})
    finally:
        client.close()


def connect_embedded(path: Path) -> Any:
    """A client for the engine in ``path``, which this process has the right to open. Costs a second of CPU."""
    engine()
    warm_up()
    path.mkdir(parents=True, exist_ok=True)
    return clickhouse_connect.get_client(interface="chdb", path=str(path))


class _NoPandas:
    """An import hook that hides pandas."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        del path, target
        if name == "pandas":
            raise ModuleNotFoundError("hidden while pyarrow looks for it")
        return None


def warm_up() -> None:
    """Import what the first insert needs.

    pyarrow looks once for pandas when the first array is made, only to ask whether the list is a pandas one; that
    import costs 2.3 CPU-seconds and 80 MB. It remembers not having found it.
    """
    hidden = "pandas" not in sys.modules
    if hidden:
        sys.meta_path.insert(0, _NoPandas)
    try:
        import pyarrow as pa  # noqa: PLC0415  # the point is when it happens

        pa.array(["warm"])
    finally:
        if hidden:
            sys.meta_path.remove(_NoPandas)
