"""What every stage stands on. Nothing here knows a stage; stages are found by entry points.

=====================  ================================================================================
``infra.settings``     one typed settings tree: defaults, file, environment; clear errors
``infra.errors``       the three ways to fail, and what a user can be told
``infra.kafka``        topics as data, producers, consumers, offsets, lag, dead letters, control
``infra.agents``       Faust agents in the one shape that loses nothing
``infra.spool``        bodies that no Kafka record can hold
``infra.run``          the one way to run a stage: signals, health, heartbeats, drain
``infra.telemetry``    logs, trace context, the vocabulary of events and their metrics
``infra.devstack``     embedded Kafka and the demo site: everything a laptop lacks
``infra.cli``          the ``odradek`` command
=====================  ================================================================================
"""
