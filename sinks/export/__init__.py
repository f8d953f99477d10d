"""``odradek export``: rows and raw pages as files, for those who have no ClickHouse and no Kafka.

- ``rows``: the answer of a query, or a table's rows of a time range, in slices whose size bounds the memory.
- ``files``: how rows are written: Parquet, JSON Lines, CSV that no spreadsheet takes for formulas.
- ``pages``: the topic of raw pages as web archives with one index.
- ``command``: the commands. A file appears under its name when it is whole.
"""
