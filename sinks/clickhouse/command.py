"""``odradek sql``: ask ClickHouse, wherever it is.

A server that ``CLICKHOUSE_URL`` names; else the process that owns the embedded engine, by its HTTP door; else the
embedded engine's directory, opened here. Nothing heavy is imported before a statement is there to run.
"""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from infra.errors import UserError
from infra.settings import Settings, load
from infra.terminal import printable
from sinks.dsn import shown
from sinks.judging import Verdict, open_failure

_ROWS_FOR_PEOPLE = "JSONCompactStringsEachRowWithNames"
_FOR_PROGRAMS = "TabSeparatedWithNames"
_SHOWN_CHARACTERS = 2_000


def sql(
    statement: Annotated[str, typer.Argument(help="The statement; - reads it from standard input.")],
    output: Annotated[
        str | None,
        typer.Option("--format", "-f", help="Any format of ClickHouse, such as JSONEachRow, CSVWithNames or Vertical."),
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where the embedded engine's data are.")] = None,
) -> None:
    """Ask ClickHouse, while a crawl runs and after it.

    Tables: documents, fetches, decisions (DESCRIBE documents tells the columns). A row that was written twice counts
    once: queries run with final = 1. On a terminal the answer is a table, otherwise tab-separated with names.

    Exit codes: 0 answered, 1 ClickHouse refused the statement, 2 nothing to ask.
    """
    text = sys.stdin.read() if statement == "-" else statement
    settings = load(**({} if data_dir is None else {"data_dir": data_dir}))
    as_table = output is None and sys.stdout.isatty()
    shape = _ROWS_FOR_PEOPLE if as_table else output or _FOR_PROGRAMS
    try:
        answer = ask(settings, text, shape)
    except RuntimeError as error:
        typer.echo(f"odradek: {error}", err=True)
        raise typer.Exit(1) from None
    if as_table and answer.startswith(b"["):
        _show(answer)
    else:
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()


def ask(settings: Settings, text: str, shape: str) -> bytes:
    """The answer in the format of the statement's own ``FORMAT`` clause, else in ``shape``.

    Raises :class:`RuntimeError` with one line when ClickHouse refuses the statement, :class:`UserError` when there is
    nothing to ask.
    """
    from sinks.clickhouse import connection, endpoint, errors  # noqa: PLC0415  # half a second, only for who needs it

    directory = connection.directory(settings)
    url = settings.clickhouse_url or endpoint.living(directory)
    try:
        if url:
            return _ask_server(url, text, shape, settings)
        if not directory.is_dir():
            raise UserError(
                f"no crawl has run here yet: there is no {directory}; run `odradek crawl URL`, name another directory "
                "with --data-dir, or set CLICKHOUSE_URL"
            )
        return _ask_directory(directory, text, shape, settings)
    except UserError:
        raise
    except Exception as error:
        if errors.code_of(error) in errors.REFUSED:
            raise open_failure(Verdict.REFUSED, error, url or "") from None
        if url and errors.code_of(error) is None:
            raise UserError(f"ClickHouse at {shown(url)} cannot be asked: {errors.one_line(error)}") from None
        raise RuntimeError(errors.one_line(error)) from None


def _ask_server(url: str, text: str, shape: str, settings: Settings) -> bytes:
    from clickhouse_connect.driver.exceptions import ProgrammingError  # noqa: PLC0415

    from sinks.clickhouse import connection  # noqa: PLC0415

    client: Any = connection.connect_server(url, timeout=settings.sinks.clickhouse.query_timeout)
    try:
        # A read-only user may change no setting; the door of the embedded engine sets it by itself.
        with suppress(ProgrammingError):
            client.set_client_setting("final", "1")
        return bytes(client.raw_query(text, transport_settings={"X-ClickHouse-Format": shape}))
    finally:
        client.close()


def _ask_directory(directory: Path, text: str, shape: str, settings: Settings) -> bytes:
    from sinks.clickhouse import statements  # noqa: PLC0415
    from sinks.clickhouse.embedded import DirectoryLock, Query, run  # noqa: PLC0415
    from sinks.clickhouse.sink import PATIENCE  # noqa: PLC0415

    writable = settings.sinks.clickhouse.http_writable
    if not writable and (why := statements.refusal(text)):
        raise RuntimeError(why)
    lock = DirectoryLock(directory)
    lock.acquire(PATIENCE)
    try:
        return run(directory, Query(text, shape, writable=writable))
    finally:
        lock.release()


def _show(answer: bytes) -> None:
    """Rows as a table; text as it is, without markup and without what a terminal would obey."""
    import json  # noqa: PLC0415

    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    rows = [json.loads(line) for line in answer.decode("utf-8", "replace").splitlines() if line.startswith("[")]
    table = Table(box=None, header_style="bold")
    for name in rows[0]:
        table.add_column(Text(printable(name)))
    for row in rows[1:]:
        table.add_row(*(Text(_cell(cell if cell is not None else "")) for cell in row))
    Console().print(table)


def _cell(text: str) -> str:
    """``text`` cut to what fits a cell."""
    return printable(text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}...")
