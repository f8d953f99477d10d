"""The vocabulary of telemetry: one module for each stage, one class for each thing that happens.

Metric names begin with ``odradek_``, carry their unit, and have labels from small closed sets only: never a URL, a
host or the text of an error.
"""
