"""The monitor: what the whole pipeline does now, why it is slow, and the handles to steer it.

The life of one look here: every few seconds ``stage`` has ``looking`` read the heartbeats, the offsets and members of
every consumer group, and the metrics of every worker at the address its heartbeat names. The look goes into the
``picture``, which is pure and bounded: counters become rates (``rates``), the last half hour stays as points of
graphs. Beside it ``following`` reads ``fetches`` and ``dead-letters`` as they come, into a table of hosts (``hosts``)
and of letters (``letters``). ``diagnosis`` reads it all as a newcomer would want it read: what is wrong, where, what to
do about it.

``api`` serves all of it as JSON under ``/api``, and ``page`` is a browser's view of that: plain files, nothing built,
nothing from elsewhere. What changes something goes through the same records of ``control`` as ``odradek control``.

The monitor holds no state: kill it and the crawl goes on; start it and it knows all again.
"""
