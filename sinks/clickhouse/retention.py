"""How long rows are kept: the tables' TTL follows the setting, in both directions."""

import re
from collections.abc import Callable
from datetime import timedelta

from sinks.tables import TABLES

Execute = Callable[[str], object]


def keep_for(execute: Execute, ttl: timedelta | None) -> None:
    """Set, change or remove the TTL of every table; nothing is executed where it is right already."""
    for table in TABLES.values():
        where = f"database = currentDatabase() AND name = '{table.name}'"
        present = _ttl_seconds(str(execute(f"SELECT engine_full FROM system.tables WHERE {where}")))  # noqa: S608  # names of our own
        wanted = int(ttl.total_seconds()) if ttl else None
        if wanted == present:
            continue
        if wanted is None:
            execute(f"ALTER TABLE {table.name} REMOVE TTL")
        else:
            # Old parts are dropped as merges come by, not rewritten at once.
            execute(
                f"ALTER TABLE {table.name} MODIFY TTL toDateTime({table.time}) + toIntervalSecond({wanted}) "
                "SETTINGS materialize_ttl_after_modify = 0"
            )


def _ttl_seconds(engine: str) -> int | None:
    match = re.search(r"\bTTL\b.*?toIntervalSecond\((\d+)\)", engine)
    return int(match[1]) if match else None
