"""Why a crawl is slow, as a newcomer would ask it: what is wrong, where one sees it, what to do. Pure."""

from collections.abc import Iterable, Iterator
from datetime import timedelta

from infra.kafka.lag import SINK_GROUP
from monitor.findings import Busy, Case, Finding
from monitor.hosts import HostFigures
from monitor.picture import Picture, State
from schemas.orders import Action

STAGES = {
    "frontier": "nothing is released to the fetchers",
    "fetchers": "nothing is fetched",
    "streams": "seeds are not read, and pages become no documents",
    "sinks": "documents become no rows",
}
"""The stages a crawl needs, and what happens without each."""

FEW = 20
"""URLs that wait: below it, that one host has most of them means nothing."""
MOST = 0.5
SLOW_S = 2.0
HIGH_ERROR_RATE = 0.05
MIN_FREE = 0.1
LETTERS_WITHIN = timedelta(minutes=5)
IN_TROUBLE = 3
"""Failures of a host in a row."""


def diagnose(case: Case) -> list[Finding]:
    """What is found, the severe first."""
    found = [
        finding
        for check in (_stages, _late, _sinks, _letters, _errors, _progress, _one_host, _trouble, _lag, _paused, _disk)
        for finding in check(case)
    ]
    return sorted(found, key=lambda finding: not finding.severe)


def _stages(case: Case) -> Iterator[Finding]:
    living = {beat.stage for beat in case.look.beats if case.picture.state(beat, case.look.at) is State.ALIVE}
    for stage, consequence in STAGES.items():
        if stage not in living:
            yield Finding(
                "stage_missing",
                True,
                f"No worker of {stage} lives",
                f"Without one {consequence}.",
                f"Start one with `odradek run {stage}`, or read the end of its log.",
                "workers",
            )


def _late(case: Case) -> Iterator[Finding]:
    for beat in case.look.beats:
        if case.picture.state(beat, case.look.at) is State.LATE:
            silent = (case.look.at - beat.at).total_seconds()
            yield Finding(
                "worker_late",
                False,
                f"{beat.worker} has been silent for {silent:.0f} s",
                "Its partitions go to other workers; if it lives, it is stopped or cut off from Kafka.",
                "Look at its machine and its log.",
                "workers",
            )


def _sinks(case: Case) -> Iterator[Finding]:
    retries = case.picture.grown("sink_retries")
    behind = {name: lag for name, lag in _newest_lag(case.picture) if name.startswith(SINK_GROUP) and lag}
    if not retries or not behind:
        return
    names = ", ".join(f"{name.removeprefix(SINK_GROUP)} ({lag:,} records behind)" for name, lag in behind.items())
    yield Finding(
        "sink_down",
        True,
        f"A store takes no rows: {names}",
        f"Writes were tried again {retries:.0f} times in the last minute. Nothing is lost: records wait in Kafka, and "
        "the crawl itself goes on.",
        "See that the store is up and that its address is right; the log of the sinks says what it answered.",
        "workers",
    )


def _letters(case: Case) -> Iterator[Finding]:
    recent = case.letters.topics(case.look.at, LETTERS_WITHIN)
    totals: dict[str, int] = {}
    for (topic, _), count in recent.items():
        totals[topic] = totals.get(topic, 0) + count
    for topic, count in sorted(totals.items(), key=lambda pair: -pair[1]):
        reasons = ", ".join(f"{reason} ({n:,})" for (of, reason), n in recent.most_common() if of == topic)
        yield Finding(
            "dead_letters",
            True,
            f"{count:,} {_plural(count, 'record')} of topic {topic} could not be used",
            f"In the last five minutes they became dead letters: {reasons}. Everything else of the topic goes on.",
            "Look at one of them: who writes to the topic what it should not? Requeue them once the cause is mended.",
            f"dead-letters?topic={topic}",
        )


def _errors(case: Case) -> Iterator[Finding]:
    fetches, errors = case.picture.grown("fetches"), case.picture.grown("errors")
    if fetches >= FEW and errors / fetches > HIGH_ERROR_RATE:
        yield Finding(
            "error_rate",
            True,
            f"{errors / fetches:.0%} of the fetches fail",
            f"{errors:.0f} of {fetches:.0f} in the last minute: hosts do not answer, or the way to them is broken.",
            "Sort the hosts by errors: one host is its own trouble, many are a network's, a DNS server's or a proxy's.",
            "hosts?sort=errors",
        )


def _progress(case: Case) -> Iterator[Finding]:
    minute = sum(point.seconds for point in case.picture.recent())
    newest = case.picture.points[-1] if case.picture.points else None
    if newest is None or minute < 55 or case.picture.grown("fetches") or _is_paused(case):
        return
    waiting = newest.frontier.get("queued", 0) + newest.frontier.get("leased", 0)
    if waiting:
        yield Finding(
            "no_progress",
            True,
            "Nothing was fetched for a minute",
            f"{waiting:,} URLs wait or are out.",
            "Look at what the hosts with most URLs wait for.",
            "hosts",
        )


def _one_host(case: Case) -> Iterator[Finding]:
    total = sum(each.queued + each.outstanding for each in case.busy)
    if total < FEW:
        return
    top = max(case.busy, key=lambda each: each.queued)
    share = (top.queued + top.outstanding) / total
    if share <= MOST:
        return
    figures = case.hosts.get(top.host)
    why, advice = _why_slow(top, figures)
    yield Finding(
        "one_host",
        False,
        f"Most of what waits is of one host: {top.host}",
        f"It has {top.queued:,} of the {total:,} URLs that wait ({share:.0%}), and {why} Other hosts are not held up.",
        advice,
        f"hosts?search={top.host}",
    )


def _why_slow(top: Busy, figures: HostFigures | None) -> tuple[str, str]:
    if figures is not None and figures.mean_s >= SLOW_S:
        return (
            f"it is slow: it takes {figures.mean_s:.1f} s to answer, one request at a time.",
            "More fetchers will not help. Wait, lower its priority, or block it if it is not worth the time.",
        )
    if top.failures or top.robots_failures:
        failures = top.failures or top.robots_failures
        return (
            f"it was in trouble {failures} {_plural(failures, 'time')} in a row; its next turn: in {top.wait_s:.0f} s.",
            "See how its fetches end. It is given up by itself when it does not answer at all.",
        )
    return (
        f"its delay of {top.delay_s:g} s allows no more than {1 / max(top.delay_s, 0.001):.1f} requests a second.",
        "More fetchers will not help. If the host's owner allows it, order a shorter delay.",
    )


def _trouble(case: Case) -> Iterator[Finding]:
    troubled = [each for each in case.busy if each.failures >= IN_TROUBLE or each.robots_failures or each.given_up]
    if len(troubled) > 1 or (troubled and troubled[0].given_up):
        names = ", ".join(each.host for each in troubled[:3])
        more = f" and {len(troubled) - 3:,} more" if len(troubled) > 3 else ""
        yield Finding(
            "hosts_in_trouble",
            False,
            f"{len(troubled):,} {_plural(len(troubled), 'host')} in trouble: {names}{more}",
            "They answered badly or not at all several times in a row, or their robots.txt cannot be had, and are left "
            "alone for a while, longer each time.",
            "Nothing has to be done for a few. If they are many, look for what they have in common.",
            "hosts?sort=failures",
        )


def _lag(case: Case) -> Iterator[Finding]:
    recent = list(case.picture.recent())
    if len(recent) < 10:
        return
    newest, oldest = recent[0], recent[-1]
    for group, lag in newest.lag.items():
        grew = lag - oldest.lag.get(group, 0)
        if grew >= 100 and lag > 1.2 * oldest.lag.get(group, 0):
            yield Finding(
                "lag_growing",
                False,
                f"{group} falls behind",
                f"{lag:,} records wait for it, {grew:,} more than a minute ago.",
                "Start more of its workers, or see what holds the ones there are.",
                "workers",
            )


def _paused(case: Case) -> Iterator[Finding]:
    for order in case.orders:
        if order.action is Action.PAUSE:
            reason = f": {order.reason}" if order.reason else ""
            yield Finding(
                "paused",
                False,
                f"The {order.subject} {order.target} is paused",
                f"By {order.by}, since {order.ordered_at:%Y-%m-%d %H:%M} UTC{reason}.",
                "Resume it when it shall go on.",
                "crawls" if order.subject == "crawl" else f"hosts?search={order.target}",
            )


def _disk(case: Case) -> Iterator[Finding]:
    for what, free in case.look.disk_free.items():
        if free < MIN_FREE:
            yield Finding(
                "disk",
                True,
                f"{free:.0%} of the disk of {what} is free",
                "When it is full, stages wait and embedded servers stop.",
                "Free space, or shorten retention in topics.toml.",
                "overview",
            )


def _is_paused(case: Case) -> bool:
    return any(order.action in (Action.PAUSE, Action.STOP) for order in case.orders)


def _newest_lag(picture: Picture) -> Iterable[tuple[str, int]]:
    return picture.points[-1].lag.items() if picture.points else ()


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"
