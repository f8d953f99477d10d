"""ClickHouse, embedded by default, a server by ``CLICKHOUSE_URL``, with the same code.

The movement of rows::

    blocks ──> rows (Arrow) ──> connection ──> documents, fetches, decisions ──> readers (final = 1)
                                   │                                                 │
                     embedded: chDB in this process  ──> facade (HTTP on loopback) ──┤
                     a server: HTTP                  ────────────────────────────────┘

- ``rows`` turns records into Arrow columns as wide as the contracts. ``migrations`` holds the tables, described column
  by column; ``retention`` their TTL.
- ``sink`` inserts all blocks of a batch with one statement from one thread. Its deduplication token names the place of
  every block, so the same batch tried again after a lost answer is dropped by ClickHouse. Any other repeat is a second
  row with the same key, which a ReplacingMergeTree folds: at once for readers with ``final = 1``, later on disk.
- ``errors`` says what an error means for the records. ``connection`` opens; ``embedded`` guards the directory, which
  one process may open, and reads from it.
- ``facade`` is the door for everybody else while the sinks run: ClickHouse's HTTP interface, for reading, with
  ``final = 1``. ``endpoint`` tells where it is; ``statements`` what passes.
- ``command`` is ``odradek sql``.

chDB must never be forked while it is open: the child hangs. Nothing here starts a process.
"""
