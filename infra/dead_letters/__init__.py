"""What can never succeed, and how it gets another chance.

The life of a dead letter::

    a stage gives up ──> open ──> claimed ──> requeued   its record stands again in the topic that it came from
                          ^          │
                          │          └─────> dropped     nobody wants it any more
                          └── a claim that was not kept ends after five minutes

The topic is a ledger: what becomes of a letter is a record (:class:`schemas.records.Resolution`) behind it on its
partition, so everybody who reads the partition agrees on the letter's state, whoever wrote at the same time.

1. :mod:`infra.dead_letters.ledger` folds the topic into the state of each letter. Pure.
2. :mod:`infra.dead_letters.selection` tells which letters somebody means. Pure.
3. :mod:`infra.dead_letters.redrive` claims letters, sends their records again and writes down that it did.
"""
