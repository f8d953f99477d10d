"""From URLs that may be fetched now to raw pages: the only room that talks to the web.

The life of one request, which is a record of ``urls``::

    intake (thread)   a batch is read, never more than there is room for (infra.kafka.intake)
         │
    work              the request is decoded; what is none becomes a dead letter
    hosts             it waits for its host's turn; after a handover one delay of the host longer, for the former
         │            owner may have sent it already
    targets           is it a canonical URL, is its name or port blocked?
    headers           the request as it goes out; cookies, where they are kept
    connections       a kept connection (idle) or a new one: resolver, lookups, then each address is judged (addresses)
         │            where it is dialled (dialler)
         │            or through a proxy (routes, proxies, tunnels)
    connection        GET, then whatever comes, within bounds of time and rate
    answers           header (heads) and body (chunks) as a browser would read them, within bounds of size; nothing is
         │            decoded (only of a robots.txt: codings), nothing followed: a redirect is a result (location)
    verdicts, media   one outcome of a closed set; is the body worth a page?
    attempt           the page and the fetch, both with the same fetch id
         │
    work              the page is delivered, then the fetch; when the broker has both, the offset may move

Pages that need a browser go another way (:mod:`fetchers.rendering`): by rule at once, otherwise when a fetcher, told to
look, finds that one shows nothing (``needs_browser``).

Nothing is kept: a worker that dies leaves its offsets uncommitted, and the new owner of its partitions fetches again.
So a page can be fetched twice, never be lost; both attempts name the same lease. Which URL may be fetched when is the
frontier's decision alone; this room only guards against what a handover could break.

On a stop nothing more is taken, what waits is given up, what is under way has a while to finish and to be delivered,
what is done is committed, and the rest is left for others.
"""
