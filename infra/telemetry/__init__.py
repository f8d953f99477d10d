"""What the pipeline tells about itself: logs, trace context, and one event class for each thing that happens.

Business code never touches a logger or a counter: it calls :func:`infra.telemetry.event.emit` with an event of
:mod:`infra.telemetry.vocabulary`, and the event gives its log line and its metrics. ``prometheus_client`` and
``structlog`` are used here alone.
"""
