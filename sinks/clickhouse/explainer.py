"""What ClickHouse tells to ``odradek explain``: the rows of a URL."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime

from infra.explain import Fact, Question
from sinks.clickhouse.command import ask
from sinks.clickhouse.statements import literal

_ROWS = """
SELECT 'documents' AS table, toString(inserted_at) AS inserted, concat('visit ', toString(visit)) AS what
FROM documents WHERE crawl = {crawl} AND host = {host} AND url = {url}
UNION ALL
SELECT 'fetches', toString(inserted_at), concat(outcome, ', attempt ', toString(attempt))
FROM fetches WHERE crawl = {crawl} AND host = {host} AND url = {url}
UNION ALL
SELECT 'decisions', toString(inserted_at), reason
FROM decisions WHERE crawl = {crawl} AND host = {host} AND url = {url}
"""


def facts(question: Question) -> Iterator[Fact]:
    """Each row, at the time of its insert."""
    names = {"crawl": question.crawl.name, "host": question.url.host, "url": question.url.href}
    sql = _ROWS.format(**{name: literal(text) for name, text in names.items()})
    for line in ask(question.settings, sql, "JSONEachRow").splitlines():
        row = json.loads(line)
        at = datetime.fromisoformat(row["inserted"]).replace(tzinfo=UTC)
        yield Fact("clickhouse", f"row in {row['table']}: {row['what']}", at, {"table": row["table"]})
