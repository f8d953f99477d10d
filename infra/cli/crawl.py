"""``odradek crawl URL...``: one crawl from start to finish on this machine."""

import json
import signal
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from infra.cli.seed import send_seeds, usable
from infra.cli.watch import Outcome, watch
from infra.devstack import demo
from infra.devstack.local import StageProcesses, demo_site, local_stack
from infra.errors import UserError
from infra.kafka.admin import Topics
from infra.kafka.control import definition
from infra.kafka.producer import Producer
from infra.run import stage_names
from infra.settings import Settings, load
from schemas.records import Crawl
from schemas.scope import ScopeKind, broken_pattern
from schemas.url import split

DEMO_DELAY_MS = 20


def crawl(  # noqa: PLR0913  # one parameter for each option of the command
    urls: Annotated[list[str] | None, typer.Argument(help="Where to begin; none crawls the bundled demo site.")] = None,
    *,
    scope: Annotated[ScopeKind, typer.Option(help="How far from the seeds the crawl may go.")] = ScopeKind.HOST,
    depth: Annotated[int | None, typer.Option(min=0, help="Links from a seed at the most.")] = None,
    max_pages: Annotated[int | None, typer.Option(min=1, help="Pages at the most.")] = None,
    delay: Annotated[float | None, typer.Option(min=0, help="Seconds between two requests to one host.")] = None,
    include: Annotated[list[str] | None, typer.Option(help="Regular expression that a link has to match.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Regular expression of links to leave out.")] = None,
    follow_robots: Annotated[bool, typer.Option(help="Obey robots.txt.")] = True,
    name: Annotated[str | None, typer.Option(help="Name of the crawl; an old name goes on with that crawl.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where everything is kept.")] = None,
    resolve: Annotated[list[str] | None, typer.Option(help="HOST=ADDRESS instead of DNS; HOST may begin *.")] = None,
    allow_network: Annotated[
        list[str] | None, typer.Option(help="Private network that may be crawled, such as 127.0.0.0/8.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The summary as JSON on standard output.")] = False,
) -> None:
    """Crawl from URLs until nothing is left, politely, and leave the documents in ClickHouse.

    Starts what it needs on this machine (an embedded Kafka unless KAFKA_BOOTSTRAP_SERVERS is set, an embedded
    ClickHouse unless CLICKHOUSE_URL is set, and the four stages), shows progress, and stops everything at the end.
    Ctrl-C drains; the same --name goes on where it stopped. Exit code 0 when finished, 130 when interrupted.
    """
    settings = load(**({} if data_dir is None else {"data_dir": data_dir}))
    if broken := broken_pattern([*(include or []), *(exclude or [])]):
        raise UserError(broken)
    seeds = [usable(url) for url in urls or []]
    local = _Local(settings, resolve or [], allow_network or [])

    def define(seeds: list[str], delay_ms: int | None) -> Crawl:
        return Crawl(
            name=name or f"{split(seeds[0]).name.strip('[]').replace(':', '-')}-{datetime.now(UTC):%Y%m%d-%H%M%S}",
            scope=scope,
            anchors=seeds,
            include=include or [],
            exclude=exclude or [],
            max_depth=depth,
            max_pages=max_pages,
            delay_ms=delay_ms if delay is None else round(delay * 1000),
            follow_robots=follow_robots,
            created_at=datetime.now(UTC),
        )

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if seeds:
        outcome = local.run(define(seeds, None), seeds)
    else:
        with demo_site() as port:
            local.resolve[f"*.{demo.DOMAIN}"] = "127.0.0.1"
            local.networks.append("127.0.0.0/8")
            seeds = [demo.seed(port)]
            crawl = define(seeds, DEMO_DELAY_MS).model_copy(
                update={"anchors": [f"http://{host}:{port}/" for host in demo.HOSTS]}
            )
            outcome = local.run(crawl, seeds)
    _tell(outcome, as_json=as_json)
    raise typer.Exit(0 if outcome.finished else 130)


class _Local:
    """The stack of one machine, and what its fetchers may reach beside the public internet."""

    def __init__(self, settings: Settings, resolve: list[str], networks: list[str]) -> None:
        self._settings = settings
        self.resolve = dict(_pair(text) for text in resolve)
        self.networks = networks

    def run(self, crawl: Crawl, seeds: list[str]) -> Outcome:
        """Run the crawl; ends when it is finished or interrupted."""
        environment = {
            "ODRADEK_FETCHERS__RESOLVE": json.dumps(self._settings.fetchers.resolve | self.resolve),
            "ODRADEK_FETCHERS__ALLOW_NETWORKS": json.dumps(
                [*map(str, self._settings.fetchers.allow_networks), *self.networks]
            ),
        }
        started_s = time.monotonic()
        with local_stack(self._settings, environment) as stages:
            Topics(stages.settings).create()
            _define(stages.settings, crawl)
            stages.start(stage_names())
            send_seeds(stages.settings, seeds, crawl.name)
            outcome = _watch(stages, crawl, started_s)
            outcome.unclean = stages.stop()
        return outcome


def _watch(stages: StageProcesses, crawl: Crawl, started_s: float) -> Outcome:
    return watch(stages.settings, crawl.name, started_s, stages.check)


def _define(settings: Settings, crawl: Crawl) -> None:
    producer = Producer(settings, "odradek-crawl")
    producer.send(definition(crawl), lambda _error: None)
    if producer.flush(settings.kafka.session_timeout):
        raise UserError("Kafka did not take the definition of the crawl; is the cluster healthy?")


def _pair(text: str) -> tuple[str, str]:
    host, separator, address = text.partition("=")
    if not separator or not host or not address:
        raise UserError(f"--resolve {text!r} is not HOST=ADDRESS")
    return host, address


def _tell(outcome: Outcome, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(outcome.as_json(), indent=2))
    else:
        print(outcome.as_text())
