"""``odradek export``: rows and raw pages as files."""

import sys
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from infra.cli.arguments import canonical_host, moment
from infra.devstack.local import readable
from infra.errors import UserError
from infra.kafka.admin import Topics
from infra.kafka.topics import TopicName
from infra.settings import Settings, load
from sinks.tables import TABLES

export = typer.Typer(help="Rows and raw pages as files.", no_args_is_help=True)

Since = Annotated[str | None, typer.Option(help="ISO 8601; what came before is left out.")]
Until = Annotated[str | None, typer.Option(help="ISO 8601; what came from then on is left out.")]
Crawl = Annotated[str | None, typer.Option(help="Only this crawl.")]
Host = Annotated[str | None, typer.Option(help="Only this host.")]
DataDir = Annotated[Path | None, typer.Option(help="Where the crawl's data are.")]


@export.command()
def rows(  # noqa: PLR0913  # one for each option
    target: Annotated[Path, typer.Argument(help="A file: .parquet, .jsonl or .csv, the last two also .gz.")],
    *,
    table: Annotated[str, typer.Option(help="documents, fetches or decisions.")] = "documents",
    sql: Annotated[str | None, typer.Option(help="Instead of a table: what this statement answers.")] = None,
    since: Since = None,
    until: Until = None,
    crawl: Crawl = None,
    host: Host = None,
    format_: Annotated[str | None, typer.Option("--format", help="parquet, jsonl or csv, whatever the name.")] = None,
    formulas: Annotated[
        bool, typer.Option("--formulas", help="CSV: leave text as it is, also what a spreadsheet would compute.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Write a table, its rows of a time range, or the answer of a statement. Asks ClickHouse as `odradek sql` does.

    Times are those of the fetch or decision. The answer of a statement is in memory whole; a table is not.
    Exit codes: 0 written, 2 nothing to ask or a mistake.
    """
    from sinks.export.files import format_of, row_file  # noqa: PLC0415  # pyarrow: a second, only for who needs it
    from sinks.export.rows import Range, answer, slices  # noqa: PLC0415

    settings = _settings(data_dir)
    shape = format_of(target, format_)
    range_ = Range(moment(since), moment(until), crawl, None if host is None else canonical_host(host))
    chosen = next((each for each in TABLES.values() if each.name == table), None)
    if chosen is None:
        raise UserError(f"there is no table {table!r}; there are: {', '.join(each.name for each in TABLES.values())}")
    if sql is not None and range_ != Range():
        raise UserError("--sql says itself which rows: leave --since, --until, --crawl and --host out")
    parts = iter([answer(settings, sql)]) if sql is not None else slices(settings, chosen, range_)
    # The first answer before the file: a statement that is refused leaves no trace.
    first = next(parts)
    written = 0
    with row_file(target, shape, formulas=formulas) as out:
        for part in chain([first], parts):
            out.write(part)
            written += part.num_rows
    typer.echo(f"{written:,} rows in {target}")


@export.command()
def pages(
    target: Annotated[Path, typer.Argument(help="What the archives' names begin with: TARGET-00000.warc.gz, ...")],
    *,
    since: Since = None,
    until: Until = None,
    crawl: Crawl = None,
    host: Host = None,
    data_dir: DataDir = None,
) -> None:
    """Write the raw pages that Kafka holds as WARC 1.1, about a GiB a file, with one index TARGET.cdxj.

    Times are those of the records. After a crawl it starts the embedded Kafka for it. Exit codes: 0 written, 2 nothing
    to read or a mistake.
    """
    from sinks.export.pages import Archives  # noqa: PLC0415  # as above
    from sinks.export.rows import Range  # noqa: PLC0415

    range_ = Range(moment(since), moment(until), crawl, None if host is None else canonical_host(host))
    with readable(_settings(data_dir)) as connected:
        partitions = Topics(connected).partition_counts().get(TopicName.PAGES)
        if partitions is None:
            raise UserError("Kafka lacks the pipeline's topics: nothing was crawled with it")
        archives = Archives(connected, target)
        archives.write(partitions, range_, lambda tally: _progress(f"{tally.pages:,} pages"))
    found = archives.tally
    typer.echo(f"{found.pages:,} pages in {found.files:,} archives, index {target}.cdxj")
    if found.unreadable:
        typer.echo(f"{found.unreadable:,} records are no page, or their body is gone: left out", err=True)


def _settings(data_dir: Path | None) -> Settings:
    return load(**({} if data_dir is None else {"data_dir": data_dir}))


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        typer.echo(f"\r{text}", nl=False, err=True)
