"""The schema in PostgreSQL; :mod:`sinks.migrations` says how the files are applied."""
