"""``odradek crawl URL...``: one crawl from start to finish on this machine."""

import json
import signal
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from infra.cli.seed import send_seeds, usable
from infra.cli.watch import Outcome, watch
from infra.devstack import demo
from infra.devstack.local import demo_site, local_stack
from infra.errors import UserError
from infra.kafka.admin import Topics
from infra.kafka.control import definition
from infra.kafka.producer import Producer
from infra.run import wanted_stages
from infra.settings import Settings, load
from schemas.records import Crawl
from schemas.scope import ScopeKind, broken_pattern
from schemas.url import host_name, split

DEMO_DELAY_S = 0.02

Urls = Annotated[list[str] | None, typer.Argument(help="Where to begin; none crawls the bundled demo site.")]
Scope = Annotated[ScopeKind, typer.Option(help="How far from the seeds the crawl may go.")]
Depth = Annotated[int | None, typer.Option(min=0, help="Links from a seed at the most.")]
MaxPages = Annotated[int | None, typer.Option(min=1, help="Pages at the most.")]
Delay = Annotated[float | None, typer.Option(min=0, help="Seconds between two requests to one host. [default: 1]")]
Include = Annotated[list[str] | None, typer.Option(help="Regular expression that a link has to match; repeatable.")]
Exclude = Annotated[list[str] | None, typer.Option(help="Regular expression of links to leave out; repeatable.")]
FollowRobots = Annotated[bool, typer.Option(help="Obey robots.txt.")]
Sitemaps = Annotated[bool, typer.Option(help="Read the sitemaps that robots.txt files name.")]
Revisit = Annotated[bool, typer.Option(help="Visit pages again and again, as often as they change, until Ctrl-C.")]
Name = Annotated[str | None, typer.Option(help="Name of the crawl; an old name goes on with that crawl.")]
DataDir = Annotated[Path | None, typer.Option(help="Where everything is kept. [default: .odradek]")]
Resolve = Annotated[list[str] | None, typer.Option(help="HOST=ADDRESS instead of DNS; HOST may be *.suffix.")]
AllowNetwork = Annotated[
    list[str] | None, typer.Option(help="Private network that may be crawled, such as 127.0.0.0/8; repeatable.")
]
AsJson = Annotated[bool, typer.Option("--json", help="The summary as JSON on standard output.")]


def crawl(  # noqa: PLR0913  # one parameter for each option of the command
    urls: Urls = None,
    *,
    scope: Scope = ScopeKind.HOST,
    depth: Depth = None,
    max_pages: MaxPages = None,
    delay: Delay = None,
    include: Include = None,
    exclude: Exclude = None,
    follow_robots: FollowRobots = True,
    sitemaps: Sitemaps = True,
    revisit: Revisit = False,
    name: Name = None,
    data_dir: DataDir = None,
    resolve: Resolve = None,
    allow_network: AllowNetwork = None,
    as_json: AsJson = False,
) -> None:
    """Crawl from URLs until nothing is left, politely, and leave the documents in ClickHouse.

    Starts what it needs on this machine (an embedded Kafka unless KAFKA_BOOTSTRAP_SERVERS is set, an embedded
    ClickHouse unless CLICKHOUSE_URL is set, and the stages), shows progress, and stops everything at the end.
    Ctrl-C drains; the same --name goes on where it stopped. Exit code 0 when finished, 130 when interrupted.
    """
    settings = load(**({} if data_dir is None else {"data_dir": data_dir}))
    wanted = Crawl(
        name=name or "unnamed",
        scope=scope,
        include=_patterns(include),
        exclude=_patterns(exclude),
        max_depth=depth,
        max_pages=max_pages,
        delay_ms=None if delay is None else round(delay * 1000),
        follow_robots=follow_robots,
        sitemaps=sitemaps,
        revisit=revisit,
        created_at=datetime.now(UTC),
    )
    reach = Reach(dict(map(_pair, resolve or [])), list(allow_network or []))
    # SIGTERM drains as Ctrl-C does; and Ctrl-C does so too where a shell started us with it ignored.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    if urls:
        outcome = crawl_here(settings, wanted, [usable(url) for url in urls], reach)
    else:
        outcome = _crawl_demo(settings, wanted, reach)
    print(json.dumps(outcome.as_json(), indent=2) if as_json else outcome.as_text())
    raise typer.Exit(0 if outcome.finished else 130)


class Reach:
    """What the fetchers may reach beside the public internet, and by which addresses."""

    def __init__(self, resolve: dict[str, str], networks: list[str]) -> None:
        self.resolve = resolve
        self.networks = networks

    def environment(self, settings: Settings) -> dict[str, str]:
        """As environment variables for the fetchers, on top of what is set."""
        networks = [*map(str, settings.fetchers.allow_networks), *self.networks]
        return {
            "ODRADEK_FETCHERS__RESOLVE": json.dumps(settings.fetchers.resolve | self.resolve),
            "ODRADEK_FETCHERS__ALLOW_NETWORKS": json.dumps(networks),
        }


def crawl_here(settings: Settings, wanted: Crawl, seeds: list[str], reach: Reach) -> Outcome:
    """Run a crawl on this machine; returns when it is finished or interrupted, with everything stopped."""
    anchors = wanted.anchors or seeds
    started = datetime.now(UTC)
    name = wanted.name if wanted.name != "unnamed" else f"{_label(seeds[0])}-{started:%Y%m%d-%H%M%S}"
    crawl = wanted.model_copy(update={"name": name, "anchors": anchors})
    started_s = time.monotonic()
    with local_stack(settings, reach.environment(settings)) as stages:
        Topics(stages.settings).create()
        define(stages.settings, crawl)
        stages.start(wanted_stages(settings))
        send_seeds(stages.settings, seeds, crawl.name)
        outcome = watch(stages.settings, crawl.name, started_s, stages.check)
        outcome.unclean = stages.stop()
    return outcome


def _crawl_demo(settings: Settings, wanted: Crawl, reach: Reach) -> Outcome:
    with demo_site() as port:
        reach.resolve[f"*.{demo.DOMAIN}"] = "127.0.0.1"
        reach.networks.append("127.0.0.0/8")
        anchors = [f"http://{host}:{port}/" for host in demo.HOSTS]
        delay_ms = round(DEMO_DELAY_S * 1000) if wanted.delay_ms is None else wanted.delay_ms
        wanted = wanted.model_copy(update={"anchors": anchors, "delay_ms": delay_ms})
        return crawl_here(settings, wanted, [demo.seed(port)], reach)


def define(settings: Settings, crawl: Crawl) -> None:
    """Define a crawl for every node. Raises :class:`UserError` when Kafka does not take it."""
    if Producer(settings, "odradek-crawl").send_all([definition(crawl)], timedelta(seconds=30)):
        raise UserError("Kafka did not take the definition of the crawl within 30 s; is the cluster healthy?")


def _label(url: str) -> str:
    """The part of a crawl's name that tells what was crawled."""
    return host_name(split(url).host).strip("[]").replace(":", "-")[:60]


def _patterns(patterns: list[str] | None) -> list[str]:
    if broken := broken_pattern(patterns or []):
        raise UserError(broken)
    return patterns or []


def _pair(text: str) -> tuple[str, str]:
    host, separator, address = text.partition("=")
    if not separator or not host or not address:
        raise UserError(f"--resolve {text!r} is not HOST=ADDRESS")
    return host, address
