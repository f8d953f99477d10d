"""``odradek run STAGE``."""

from typing import Annotated

import typer

from infra.errors import UserError
from infra.kafka.admin import Topics
from infra.kafka.topics import all_topics
from infra.run import run_stage
from infra.settings import load


def run(
    stage: Annotated[str, typer.Argument(help="frontier, fetchers, streams, sinks or monitor.")],
    health_port: Annotated[
        int | None, typer.Option(help="Port of /livez, /readyz and /metrics; 0 takes a free one.")
    ] = None,
) -> None:
    """Run one stage against the Kafka that KAFKA_BOOTSTRAP_SERVERS names, until SIGTERM or Ctrl-C drains it."""
    settings = load(**({} if health_port is None else {"health_port": health_port}))
    missing = set(all_topics()) - set(Topics(settings).partition_counts())
    if missing:
        raise UserError(f"Kafka lacks the topics {', '.join(sorted(missing))}: run `odradek topics create`")
    raise typer.Exit(run_stage(stage, settings))
