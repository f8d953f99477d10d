"""From the topics ``documents``, ``fetches`` and ``events`` into stores that people query.

The movement of one record::

    topic ──> agent ──> batch ──> blocks ──> rows ──> store ──> the offset moves
              (Faust)   (records   (decoded,          (written
                         of one     one run of         or refused)
                         topic)     offsets each)

1. Each configured store (:class:`infra.settings.sinks.StoreSettings`) has a consumer group of its own, so a slow or
   dead store holds up no other: :mod:`sinks.feed`, which :mod:`sinks.member` keeps running while :mod:`sinks.wanted`
   says that it is wanted. Its kind is the scheme of its DSN; a kind is a folder, and all have
   one shape: ``sinks/memory`` is the smallest.
2. :mod:`sinks.blocks` cuts a batch into blocks: the records of one partition in the order of their offsets, decoded,
   with the trace that each carries in its headers. A block's token names its place (topic, partition, first and last
   offset) and its records. :mod:`sinks.selection` leaves out what is not for this store.
3. The store writes the blocks of a batch (:class:`sinks.sink.Sink`). When the write returns the rows are there; only
   then are the records acknowledged. :mod:`sinks.tables` tells the columns, once for all stores; where a store's client
   blocks, :mod:`sinks.blocking` is its base.
4. The store says how it failed (:mod:`sinks.judging`), the runner knows what follows: ``RetryLater`` (the store is in
   trouble) repeats the same batch for ever, with a pause for all topics where it fails again and again
   (:mod:`sinks.breaker`); ``NeverValid`` (some row can never be stored) halves it down to the one bad record, which
   goes to ``dead-letters`` while its neighbours are stored.

A record can come twice: after a kill between the write and the commit, after a rebalance, after a replay from an old
offset. The token stops the repeat of the very same write; the store's own key (for documents crawl, url and visit; for
fetches the fetch id; for events an id derived from what was decided) folds every other repeat. So a row is never
counted twice, however the repeats overlap.
"""
