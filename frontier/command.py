"""``odradek audit``: proof from the records that a crawl was polite."""

import json
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

import typer

from frontier.audit import Audit, Finding, HostReport, Limits
from infra.cli.arguments import moment
from infra.devstack.local import readable
from infra.errors import UserError
from infra.kafka.admin import Topics
from infra.kafka.control import Control
from infra.kafka.partition_reader import PartitionReader
from infra.kafka.topics import TopicName
from infra.settings import Settings, load
from schemas.records import Fetch
from schemas.wire import Undecodable, decode

_SHOWN = 20

audit = typer.Typer(name="audit", help="Prove from the records what a crawl promised.", no_args_is_help=True)
audit.callback()(lambda: None)


@audit.command()
def politeness(
    *,
    crawl: Annotated[str | None, typer.Option(help="Only the fetches of this crawl are shown as violations.")] = None,
    host: Annotated[str | None, typer.Option(help="Only this host.")] = None,
    since: Annotated[str | None, typer.Option(help="ISO 8601; earlier records are left out.")] = None,
    tolerance_ms: Annotated[int, typer.Option(min=0, help="By how much the fetchers' clocks may differ.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
    data_dir: Annotated[Path | None, typer.Option(help="Where the crawl's data are.")] = None,
) -> None:
    """Judge every fetch: gaps between requests to one host, concurrency, Retry-After, and robots.txt.

    Reads the topics `fetches`, `robots` and `control`; after a crawl it starts the embedded Kafka for it. Exit codes:
    0 nothing found, 1 violations, 2 nothing to read.
    """
    settings = load(**({} if data_dir is None else {"data_dir": data_dir}))
    limits = Limits(
        settings.frontier.per_host,
        settings.identity.robots_token,
        settings.frontier.longest_crawl_delay,
        settings.frontier.longest_retry_after,
        timedelta(milliseconds=tolerance_ms),
    )
    with readable(settings) as connected:
        found = _judge(connected, limits, host, moment(since))
    findings = [each for each in found.findings if crawl is None or each.crawl == crawl]
    if as_json:
        _print_json(found, findings)
    else:
        _show(found, findings)
    raise typer.Exit(1 if findings else 0)


def _judge(settings: Settings, limits: Limits, host: str | None, since: datetime | None) -> Audit:
    partitions = Topics(settings).partition_counts()
    if TopicName.FETCHES not in partitions:
        raise UserError("Kafka lacks the pipeline's topics: nothing was crawled with it")
    control = Control(settings, "odradek-audit")
    control.start()
    try:
        versions = {each.robots: each for each in _fetches(settings, TopicName.ROBOTS, partitions, None) if each.robots}
        found = Audit(limits, control.crawl, versions)
        for fetch in _fetches(settings, TopicName.FETCHES, partitions, since):
            if host is None or fetch.host == host:
                found.add(fetch)
    finally:
        control.stop()
    return found


def _fetches(
    settings: Settings, topic: TopicName, partitions: dict[str, int], since: datetime | None
) -> Iterator[Fetch]:
    """Every record of a topic, partition by partition: those of one host in their order."""
    for number in range(partitions.get(topic, 0)):
        reader = PartitionReader(settings, "odradek-audit", topic, number)
        try:
            for batch in reader.read(0 if since is None else reader.offset_at(since)):
                for record in batch:
                    if record.value is not None:
                        yield from _decoded(record.value)
        finally:
            reader.close()


def _decoded(value: bytes) -> Iterator[Fetch]:
    # What is no fetch is a dead letter of its readers already; it proves nothing either way.
    try:
        yield decode(Fetch, value)
    except Undecodable:
        return


def _print_json(found: Audit, findings: list[Finding]) -> None:
    """One object: totals, hosts by name, violations."""
    shown: dict[str, Any] = {
        "fetches": found.fetches,
        "unjudged": found.unjudged,
        "hosts": {name: _host(report) for name, report in sorted(found.hosts.items())},
        "violations": [each._asdict() | {"at": each.at.isoformat()} for each in findings],
    }
    sys.stdout.write(json.dumps(shown, indent=2) + "\n")


def _host(report: HostReport) -> dict[str, float | int | None]:
    return {
        "requests": report.requests,
        "shortest_gap_s": report.shortest_gap_s,
        "longest_delay_s": report.longest_delay_s,
        "most_at_once": report.most_at_once,
    }


def _show(found: Audit, findings: list[Finding]) -> None:
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table("host", "requests", "shortest gap", "delay", "at once", box=None, header_style="bold")
    busiest = sorted(found.hosts.items(), key=lambda each: -each[1].requests)
    for name, report in busiest[:_SHOWN]:
        gap = "" if report.shortest_gap_s is None else f"{report.shortest_gap_s:.3f} s"
        delay = f"{report.longest_delay_s:.3f} s"
        table.add_row(Text(name), f"{report.requests:,}", gap, delay, str(report.most_at_once))
    console = Console()
    console.print(table)
    if len(busiest) > _SHOWN:
        console.print(f"... and {len(busiest) - _SHOWN:,} hosts with fewer requests")
    for each in sorted(findings, key=attrgetter("at"))[:_SHOWN]:
        console.print(Text(f"{each.violation}: {each.at.isoformat()} {each.url}: {each.detail}"))
    if len(findings) > _SHOWN:
        console.print(f"... and {len(findings) - _SHOWN:,} more")
    if found.unjudged:
        console.print(f"{found.unjudged:,} records do not say which delay was in force; their gaps are not judged")
    hosts = f"{found.fetches:,} fetches of {len(found.hosts):,} hosts"
    console.print(f"{hosts}: {len(findings):,} violations" if findings else f"{hosts}: no violation")
