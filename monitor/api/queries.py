"""Queries to begin with: what analysts ask first."""

from monitor.api.answers import ReadyQuery

READY = (
    ReadyQuery(
        name="Pages by host",
        sql="SELECT host, count() AS pages FROM documents GROUP BY host ORDER BY pages DESC LIMIT 20",
        chart="bars",
    ),
    ReadyQuery(
        name="Pages over time",
        sql="SELECT toStartOfInterval(fetched_at, INTERVAL 10 SECOND) AS time, count() AS pages FROM documents"
        " GROUP BY time ORDER BY time",
        chart="line",
    ),
    ReadyQuery(
        name="How fetches end",
        sql="SELECT outcome, count() AS fetches FROM fetches GROUP BY outcome ORDER BY fetches DESC",
        chart="bars",
    ),
    ReadyQuery(
        name="Slowest hosts",
        sql="SELECT host, round(quantile(0.95)(total_ms)) AS p95_ms, count() AS fetches FROM fetches"
        " GROUP BY host ORDER BY p95_ms DESC LIMIT 20",
        chart="bars",
    ),
    ReadyQuery(
        name="Why URLs were not crawled",
        sql="SELECT reason, count() AS urls, any(url) AS example FROM decisions GROUP BY reason ORDER BY urls DESC",
        chart="bars",
    ),
    ReadyQuery(
        name="Languages",
        sql="SELECT ifNull(language, 'unknown') AS language, count() AS pages FROM documents"
        " GROUP BY language ORDER BY pages DESC LIMIT 20",
        chart="bars",
    ),
    ReadyQuery(
        name="Pages by depth",
        sql="SELECT depth, count() AS pages FROM documents GROUP BY depth ORDER BY depth",
        chart="bars",
    ),
)
