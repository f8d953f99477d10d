"""``odradek topics``: create them, list them, show drift."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from infra.errors import UserError
from infra.kafka.admin import Topics
from infra.kafka.rights import COMPONENTS
from infra.kafka.sizing import PER_PAGE, held, size
from infra.kafka.topics import all_topics
from infra.settings import load

topics = typer.Typer(help="The topics of the pipeline: list, create, drift.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="For scripts.")]


@topics.command("list")
def list_topics(as_json: AsJson = False) -> None:
    """What topics there are, and what they are for. Needs no Kafka."""
    if as_json:
        print(json.dumps({name: topic.model_dump() for name, topic in all_topics().items()}, indent=2))
        return
    table = Table("topic", "key", "records", "written by", "read by", "cleanup", box=None, header_style="bold")
    for name, topic in all_topics().items():
        writers, readers = ", ".join(topic.writers), ", ".join(topic.readers)
        table.add_row(name, topic.key, ", ".join(topic.records), writers, readers, topic.cleanup)
    Console().print(table)


@topics.command()
def create() -> None:
    """Create the topics that the cluster lacks; never changes one that exists."""
    created = Topics(load()).create()
    print(f"created {', '.join(created)}" if created else "all topics exist")


@topics.command()
def grant(
    prefix: Annotated[str, typer.Option(help="Each component's user is named so, and after the component.")] = (
        "odradek-"
    ),
) -> None:
    """Write the access rules: each component's user may do what the component needs, and nothing else."""
    count = Topics(load()).grant({component: prefix + component for component in COMPONENTS})
    print(f"{count} rules for {', '.join(prefix + component for component in COMPONENTS)}")


@topics.command("size")
def size_of(
    pages_per_day: Annotated[float, typer.Argument(min=1, help="Pages a day, held all day; 50e6 is a number too.")],
    brokers: Annotated[int, typer.Option(min=1)] = 3,
    copies: Annotated[int, typer.Option(min=1, help="Replication factor.")] = 3,
) -> None:
    """What Kafka needs for a pace: partitions, network, disks, and how far back each topic reaches. Needs no Kafka."""
    if copies > brokers:
        raise UserError(f"{copies} copies need {copies} brokers at least")
    need = size(pages_per_day, brokers=brokers, copies=copies)
    print(f"{need.pages_s:,.1f} pages/s; {need.partitions} partitions of each co-partitioned topic")
    print(f"written by producers, at the peak   {need.written_mb_s:,.1f} MB/s")
    print(f"into each of {brokers} brokers            {need.broker_in_mb_s:,.1f} MB/s")
    print(f"out of each                         {need.broker_out_mb_s:,.1f} MB/s")
    print(f"disk of each                        {need.disk_gib:,.0f} GiB")
    print(f"known URLs after a year, all copies of the frontier's state, each  {need.state_gib:,.0f} GiB")
    for name in PER_PAGE:
        reach = held(name, need.pages_s)
        if reach is not None:
            print(f"{name.value:16}  reaches back {reach.total_seconds() / 3600:,.1f} h")


@topics.command()
def drift(as_json: AsJson = False) -> None:
    """Show where the cluster differs from the topics file; exit code 1 when it does."""
    found = Topics(load()).drift()
    if as_json:
        print(json.dumps([each._asdict() for each in found], indent=2))
    elif not found:
        print("the cluster has every topic as the file says")
    else:
        table = Table("topic", "setting", "file", "cluster", box=None, header_style="bold")
        for each in found:
            table.add_row(each.topic, each.setting, each.wanted, each.found)
        Console().print(table)
    raise typer.Exit(1 if found else 0)
