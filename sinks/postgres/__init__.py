"""PostgreSQL, by psycopg: rows by COPY, folded by key.

The movement of rows::

    blocks ──> rows (of each key the newest) ──COPY──> a temporary table ──upsert──> documents, fetches, decisions
                                               └───────────── one transaction ────────────┘

- ``postgresql://USER:PASSWORD@HOST/DATABASE?...`` with every option of libpq; also its environment variables.
- A repeat finds its row and writes nothing; a newer version replaces it. ``migrations`` holds the tables.
- PostgreSQL's text holds no NUL: it becomes U+FFFD, as HTML has it. Everything else comes back as it was.
- ``errors`` says what an error means for the records; ``deadline`` ends what the server does not answer.
"""
