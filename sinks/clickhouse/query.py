"""One statement that reads, for programs: rows, with a limit on them."""

import json
from contextlib import suppress
from typing import Any

from clickhouse_connect.driver.exceptions import ProgrammingError

from infra.errors import UserError
from infra.query import Table
from infra.settings import Settings
from sinks.clickhouse import connection, endpoint, errors, statements


def query(settings: Settings, sql: str, limit: int) -> Table:
    """The answer of the server, or of the process that owns the embedded engine. Raises :class:`UserError`."""
    # A statement is refused here whatever the user behind the URL may do.
    why = statements.refusal(sql) or (
        "the answer's format is not yours to choose here" * bool(statements.format_of(sql))
    )
    if why:
        raise UserError(why)
    url = settings.clickhouse_url or endpoint.living(connection.directory(settings))
    if url is None:
        raise UserError(
            "ClickHouse cannot be asked now: no process of the sinks serves it, and CLICKHOUSE_URL is not set"
        )
    try:
        answer = _ask(url, sql, limit, settings)
    except Exception as error:
        raise UserError(errors.one_line(error)) from None
    rows = answer["data"]
    names, types = [each["name"] for each in answer["meta"]], [each["type"] for each in answer["meta"]]
    return Table(names, types, rows[:limit], cut=len(rows) > limit)


def _ask(url: str, sql: str, limit: int, settings: Settings) -> Any:
    client: Any = connection.connect_server(url, timeout=settings.sinks.clickhouse.query_timeout)
    wanted = {
        "final": "1",
        # Reads only, and settings may still be set.
        "readonly": "2",
        "max_result_rows": str(limit + 1),
        "result_overflow_mode": "break",
        "output_format_json_quote_64bit_integers": "1",
        "output_format_json_quote_denormals": "1",
    }
    try:
        for name, value in wanted.items():
            # A user whose profile is read-only may set nothing; then the profile's own limits hold.
            with suppress(ProgrammingError):
                client.set_client_setting(name, value)
        return json.loads(client.raw_query(sql, transport_settings={"X-ClickHouse-Format": "JSONCompact"}))
    finally:
        client.close()
