"""Pages that show nothing before their scripts have run, rendered by a browser that reaches nothing by itself.

The life of one request, which is a record of ``renders``::

    work              as in the fetchers: host's turn, delivery, then the offset
    renderer          the document is fetched as every page is: same limits, same outcomes, same record
         │
    browser           a page of a fresh context in the system's Chromium, which has no network: every name is unknown
         │            to it, and its only proxy is a dead end
    visit             the document is laid before it, its scripts run until it asks for nothing more, within bounds of
         │            time and memory; what stands there then is taken, from a world that its scripts cannot reach
    parts             whatever it asks for on the way comes through the fetchers' own connections: addresses judged
                      where they are dialled, ports, names and orders respected, bounded in number and size

What cannot be rendered is stored as it came, and its fetch says why. That a page needs a browser is a rule's decision
(:mod:`frontier.browser_rules`) or that of ``detection`` in the fetchers; either way the frontier releases it, with the
host's delay kept and the robots.txt obeyed.
"""
