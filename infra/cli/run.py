"""``odradek run STAGE``."""

from typing import Annotated

import typer

from infra.errors import UserError
from infra.kafka.admin import Topics
from infra.run import run_stage, stage_names
from infra.settings import load, read


def run(
    stage: Annotated[str, typer.Argument(help="frontier, fetchers, streams, sinks or monitor.")],
    health_port: Annotated[
        int | None, typer.Option(help="Port of /livez, /readyz and /metrics; 0 takes a free one.")
    ] = None,
) -> None:
    """Run one stage against the Kafka that KAFKA_BOOTSTRAP_SERVERS names, until SIGTERM or Ctrl-C drains it."""
    flags = {} if health_port is None else {"health_port": health_port}
    settings = load(**flags)
    if stage not in stage_names():
        raise UserError(f"there is no stage {stage!r}; there are: {', '.join(stage_names())}")
    Topics(settings).check(stage)
    raise typer.Exit(run_stage(stage, settings, lambda: read(**flags)))
