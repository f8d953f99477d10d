"""The endpoints that only read."""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime
from urllib.parse import urlsplit

from infra.kafka.topics import all_topics
from infra.life import chosen, life_of, parse
from infra.settings.origin import shown
from infra.telemetry.exposition import Series
from monitor.api import answers, questions
from monitor.api.desk import Desk
from monitor.api.queries import READY
from monitor.findings import Busy
from monitor.hosts import HostFigures
from monitor.picture import Point, State
from monitor.rates import FIGURES
from schemas.orders import Action, Order, Subject, concerns

SHOWN_POINTS = 300


async def overview(desk: Desk, _question: questions.Nothing) -> answers.Overview:
    """Rates, lag, latency, what is wrong, and the graphs' points."""
    picture, look = desk.picture, desk.picture.look
    newest = picture.points[-1] if picture.points else None
    alive = [beat.stage for beat in look.beats if picture.state(beat, look.at) is State.ALIVE] if look else []
    return answers.Overview(
        at=look.at if look else None,
        age_s=(datetime.now(UTC) - look.at).total_seconds() if look else None,
        rates={name: picture.rate(name) for name in FIGURES},
        p50_s=newest.p50_s if newest else None,
        p95_s=newest.p95_s if newest else None,
        frontier=dict(newest.frontier) if newest else {},
        stages={stage: alive.count(stage) for stage in sorted(set(alive))},
        disk_free=dict(look.disk_free) if look else {},
        findings=[answers.FindingShown(**vars(finding)) for finding in desk.findings],
        history=[_point(point) for point in thinned(list(picture.points))],
    )


def thinned(points: list[Point]) -> list[Point]:
    """At most about :data:`SHOWN_POINTS`, evenly, the newest among them."""
    step = max(1, -(-len(points) // SHOWN_POINTS))
    return points[::-1][::step][::-1]


def _point(point: Point) -> answers.PointShown:
    seconds = point.seconds or 1.0
    return answers.PointShown(
        at=point.at,
        rates={name: by / seconds if point.seconds else 0.0 for name, by in point.grown.items()},
        lag=dict(point.lag),
        queued=point.frontier.get("queued", 0),
        leased=point.frontier.get("leased", 0),
        hosts=point.frontier.get("hosts", 0),
        p50_s=point.p50_s,
        p95_s=point.p95_s,
    )


async def workers(desk: Desk, _question: questions.Nothing) -> answers.Workers:
    """Every worker, every consumer group with its members and lag, every topic."""
    look = desk.picture.look
    if look is None:
        return answers.Workers(workers=[], groups=[], topics=[])
    now = datetime.now(UTC)
    told = [
        answers.WorkerShown(
            worker=beat.worker,
            stage=beat.stage,
            state=desk.picture.state(beat, now),
            ready=beat.ready,
            silent_s=max((now - beat.at).total_seconds(), 0.0),
            started_at=beat.started_at,
            url=beat.url,
            partitions=sorted(beat.partitions),
            counts={name: count for name, count in beat.counts.items() if not name.startswith("crawl/")},
            memory_bytes=look.samples.get(beat.worker, {}).get(
                Series("process_resident_memory_bytes", (("job", beat.stage),))
            ),
            metrics_error=look.silent.get(beat.worker),
        )
        for beat in look.beats
    ]
    return answers.Workers(workers=told, groups=_groups(desk), topics=_topics(desk))


def _groups(desk: Desk) -> list[answers.GroupShown]:
    look = desk.picture.look
    found: list[answers.GroupShown] = []
    for name in look.offsets.groups if look else ():
        group = look.groups.get(name) if look else None
        members: list[answers.MemberShown] = []
        for member in group.members if group else ():
            owned: dict[str, list[int]] = {}
            for topic, partition in member.places:
                owned.setdefault(topic, []).append(partition)
            members.append(answers.MemberShown(client=member.client, host=member.host, partitions=owned))
        lag = look.offsets.lag(name) if look else {}
        found.append(
            answers.GroupShown(group=name, state=group.state if group else "unknown", lag=lag, members=members)
        )
    return found


def _topics(desk: Desk) -> list[answers.TopicShown]:
    look = desk.picture.look
    found: list[answers.TopicShown] = []
    for name, topic in all_topics().items():
        places = [place for place in look.offsets.ends if place[0] == name] if look else []
        if look and places:
            ends = sum(look.offsets.ends[place] for place in places)
            found.append(
                answers.TopicShown(
                    topic=name,
                    records=ends - sum(look.offsets.starts.get(place, 0) for place in places),
                    end=ends,
                    partitions=len(places),
                    retention_hours=topic.retention_hours,
                    note=topic.note,
                )
            )
    return found


def order_shown(version: int, order: Order) -> answers.OrderShown:
    """An order with the version that it has in ``control``."""
    return answers.OrderShown(version=version, **order.model_dump())


async def orders(desk: Desk, _question: questions.Nothing) -> answers.Orders:
    """The orders in force, oldest first."""
    return answers.Orders(orders=[order_shown(version, order) for version, order in desk.control.ordered()])


async def crawls(desk: Desk, _question: questions.Nothing) -> answers.Crawls:
    """Every crawl that is defined: its definition, figures, state and orders."""
    ordered = desk.control.ordered()
    found: list[answers.CrawlShown] = []
    for crawl in sorted(desk.control.known().values(), key=lambda each: each.created_at, reverse=True):
        own = [
            order_shown(version, order)
            for version, order in ordered
            if (order.subject, order.target) == (Subject.CRAWL, crawl.name)
        ]
        figures = dict(desk.picture.crawls.get(crawl.name, {}))
        actions = {order.action for order in own}
        waiting = figures.get("queued", 0) + figures.get("leased", 0)
        state = (
            ("stopped" if Action.STOP in actions else None)
            or ("paused" if Action.PAUSE in actions else None)
            or ("running" if waiting else "idle")
        )
        found.append(answers.CrawlShown(crawl=crawl, state=state, figures=figures, orders=own))
    return answers.Crawls(crawls=found)


async def hosts(desk: Desk, question: questions.HostsWanted) -> answers.Hosts:
    """Hosts with work as the frontier has them, joined with how their fetches ended."""
    search = question.search.strip().lower()
    look = desk.picture.look
    busy = await desk.looking.busy(look.beats if look else (), search, question.limit)
    names = dict.fromkeys(
        [*(each.host for each in busy), *(each.name for each in desk.hosts.found(search, question.limit))]
    )
    waiting = {each.host: each for each in busy}
    ordered = [pair for pair in desk.control.ordered() if pair[1].subject is not Subject.CRAWL]
    told = [_host(name, waiting.get(name), desk.hosts.get(name), ordered) for name in names]
    told.sort(key=lambda host: -float(getattr(host, question.sort) or 0))
    return answers.Hosts(known=len(desk.hosts), hosts=told[: question.limit])


def _host(
    name: str, busy: Busy | None, figures: HostFigures | None, ordered: Iterable[tuple[int, Order]]
) -> answers.HostShown:
    return answers.HostShown(
        host=name,
        queued=busy.queued if busy else 0,
        outstanding=busy.outstanding if busy else 0,
        delay_s=busy.delay_s if busy else None,
        wait_s=busy.wait_s if busy else None,
        failures=busy.failures if busy else 0,
        robots_failures=busy.robots_failures if busy else 0,
        given_up=busy.given_up if busy else None,
        fetches=figures.fetches if figures else 0,
        pages=figures.pages if figures else 0,
        errors=figures.errors if figures else 0,
        body_bytes=figures.body_bytes if figures else 0,
        mean_s=figures.mean_s if figures else None,
        last_outcome=figures.last_outcome if figures else None,
        last_status=figures.last_status if figures else None,
        last_error=figures.last_error if figures else None,
        last_at=figures.last_at if figures else None,
        orders=[
            order_shown(version, order) for version, order in ordered if concerns(order, "", name, f"https://{name}/")
        ],
    )


async def explain(desk: Desk, question: questions.UrlAsked) -> answers.Explained:
    """Why a URL was or was not crawled: what `odradek explain` tells."""
    url, crawl = parse(question.url), chosen(desk.control, question.crawl)
    life = await asyncio.to_thread(life_of, desk.settings, url, crawl, desk.control.orders())
    facts = [answers.FactShown(at=each.at, source=each.source, text=each.text) for each in life.facts]
    return answers.Explained(url=life.url, crawl=life.crawl, facts=facts)


async def ready_queries(_desk: Desk, _question: questions.Nothing) -> answers.ReadyQueries:
    """Statements of SQL that many want, and how to draw what they answer."""
    return answers.ReadyQueries(queries=list(READY))


async def settings(desk: Desk, _question: questions.Nothing) -> answers.SettingsShown:
    """The settings in force in the monitor's process, and where each comes from; secrets are masked."""
    return answers.SettingsShown(settings=[answers.SettingShown(**each._asdict()) for each in shown(desk.settings)])


async def targets(desk: Desk, _question: questions.Nothing) -> answers.Targets:
    """Every living worker's metrics, for the HTTP service discovery of Prometheus."""
    look = desk.picture.look
    return answers.Targets(
        [
            answers.Target(targets=[urlsplit(beat.url).netloc], labels={"job": beat.stage, "worker": beat.worker})
            for beat in (look.beats if look else ())
        ]
    )
