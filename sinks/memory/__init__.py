"""A store in memory: for tests of everything around a store, and the smallest example of a sink.

Rows are kept in a dictionary by the key that makes repeats fold; :mod:`sinks.keys` says what it is for each topic.
"""
