"""The frontier: which URL may be fetched now. One owner for each partition, so one owner for each host.

The life of one URL here: ``stage`` reads it from ``links``. ``admission`` lets it in unless it was seen, is too deep,
looks like a trap (``traps``) or is one too many of its kind (``budgets``), and it waits in a queue of its host
(``queues``): on disk, the first few also in memory. When the host is due, ``partition`` releases the URL whose turn it
is: robots.txt is known and allows it, no order (:mod:`schemas.orders`) is against it, nothing else of the host is out,
the delay has passed. A release is a lease and a request in ``urls``. ``results`` reads what became of it from
``fetches``: the lease ends, the host's next time is set, and the URL is done, waits to be tried again, or sends a
redirect's target to the partition of its host. In a crawl that visits pages again it waits for the next time instead
(``revisit``). The sitemaps that a robots.txt names (``sitemaps``) are URLs like others.

What holds it together: every decision on a batch of input is one transaction of the partition's ``store``, together
with the offsets of the input and the records that it owes to Kafka (``memory``, ``outbox``). ``publisher`` pays them:
first the changes of the state, to the compacted changelog, and only then what the world sees. So a request that anybody
has seen can be restored even without the disk (``owned``). Kafka's offsets follow what is paid.

Decisions take the time as a parameter (``clock`` never jumps); ``backoff``, ``robots``, ``traps``,
``budgets`` and ``leases`` are pure.
"""
