"""Another Kafka cluster: the records of a topic in a topic of the same contract, elsewhere.

- ``kafka://HOST:PORT,HOST:PORT/PREFIX?security.protocol=SASL_SSL&...``: options are librdkafka's, user and password are
  ``sasl.username`` and ``sasl.password``. The topics there are called as here, behind the prefix; they have to exist.
- Values are encoded anew by the newest contract, keys are those of the topic here, and the trace goes along.
- At least once: a replay sends records again. The header ``odradek-id`` names a record's row
  (:mod:`sinks.kafka.records`): whoever reads folds by it. Kafka's transactions would leave markers that keep the lag of
  every reader above zero.
"""
