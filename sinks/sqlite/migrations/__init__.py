"""The schema in SQLite; :mod:`sinks.migrations` says how the files are applied."""
