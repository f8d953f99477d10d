"""Kafka for every stage: the only owner of confluent-kafka.

``topics.toml`` is the pipeline as data. ``clients`` holds the settings that every client needs (one partitioner, no
automatic offsets). ``producer`` sends and tells when the broker has it; ``offsets`` decides what may be committed;
``intake`` reads for an event loop; ``dead_letters`` keeps what can never succeed; ``control`` follows the definitions
of crawls; ``lag`` and ``admin`` look from outside.
"""
