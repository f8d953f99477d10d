"""The one statement that SQLite and PostgreSQL share: insert, and fold into what is there already."""

from sinks.tables import Table


def upsert(table: Table, source: str) -> str:
    """Insert the rows of ``source`` (``VALUES`` or a ``SELECT``, of all columns); a newer version replaces its row.

    A repeat changes nothing: it costs a look at the key, and no write.
    """
    key, others = ", ".join(table.key), [name for name in table.names if name not in table.key]
    changes = ", ".join(f"{name} = excluded.{name}" for name in others)
    newer = f"excluded.{table.version} > {table.name}.{table.version}"
    into = f"INSERT INTO {table.name} ({', '.join(table.names)}) {source}"
    return f"{into} ON CONFLICT ({key}) DO UPDATE SET {changes} WHERE {newer}"
