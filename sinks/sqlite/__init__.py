"""SQLite: rows in one file, for a crawl that needs no server. The embedded twin of ``sinks/postgres``.

- ``sqlite:`` is ``rows.sqlite`` in the data directory, ``sqlite:PATH`` another file. Anybody may read it meanwhile.
- A write is one transaction of upserts by key, synced to the disk before it returns. ``migrations`` holds the tables.
- Times are text in ISO 8601, as wide as each other, so that they sort; lists and maps are JSON (``json_each(links)``).
- ``errors`` says what an error means for the records.
"""
