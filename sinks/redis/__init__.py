"""Redis: each row a hash under its key, for whoever looks documents up by their id.

- ``redis://:PASSWORD@HOST:6379/0``, ``rediss://`` over TLS, ``unix://`` with every option of redis-py;
  ``?prefix=NAME:`` in place of ``odradek:``.
- A document is at ``odradek:documents:CRAWL:URL_ID:VISIT``, a fetch at ``odradek:fetches:FETCH_ID``, a decision at
  ``odradek:decisions:DECISION_ID``; ``URL_ID`` is the BLAKE2b-128 of the canonical URL in hexadecimal digits. A field
  that a record does not have is missing; lists and maps are JSON, times ISO 8601.
- A script on the server compares versions and replaces the whole hash: a repeat writes nothing, whoever else writes.
- ``errors`` says what an error means for the records.

What is written is as durable as the server is set to be: with ``appendonly yes`` it survives a crash of the server, and
the last second of it a power cut only with ``appendfsync always``. A server without is told in the log.
"""
