"""The stage: looks, follows, serves."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta

from infra.errors import RetryLater, UserError
from infra.settings import Settings
from infra.stage import Context, Progress
from infra.steering import Steering
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.monitor import Looked, LookFailed, PageServed
from monitor import endpoint
from monitor.api.desk import Desk
from monitor.api.guard import Policy, is_loopback
from monitor.api.server import Server
from monitor.diagnosis import STAGES, diagnose
from monitor.documents import NewestDocuments
from monitor.findings import Case, Finding, counts
from monitor.following import follow
from monitor.hosts import HostTable
from monitor.letters import Letters
from monitor.look import Look
from monitor.looking import Looking
from monitor.picture import Picture, State

LONGEST_WAIT = timedelta(seconds=30)
BUSY_HOSTS = 50
BUSY_EVERY = timedelta(seconds=10)
"""The frontier goes through all its hosts to tell the busiest."""


class Monitor:
    """See :mod:`monitor` for the movement; :class:`infra.stage.Stage` for the methods."""

    def __init__(self, context: Context) -> None:
        """Raises :class:`UserError` when others could reach it and no token is set."""
        self._settings = context.settings
        self._control = context.control
        self._policy = policy_of(context.settings)
        self._picture = Picture(context.settings.monitor)
        self._hosts = HostTable(context.settings.monitor.hosts)
        self._letters = Letters()
        self._looks = 0
        self._ready = False

    async def run(self, stopping: asyncio.Event) -> None:
        """Serve until ``stopping``. While Kafka is away, what was seen last is served, with its age."""
        looking = Looking(self._settings)
        desk = Desk(
            settings=self._settings,
            control=self._control,
            steering=Steering(self._settings, self._control),
            looking=looking,
            picture=self._picture,
            hosts=self._hosts,
            letters=self._letters,
            documents=NewestDocuments(self._settings),
        )
        server = Server(desk, self._policy)
        following = asyncio.create_task(follow(self._settings, self._hosts, self._letters, stopping))
        try:
            url = await server.start(self._settings.monitor.address, self._settings.monitor.port)
            endpoint.publish(self._settings, url, self._policy.token)
            emit(PageServed(url))
            await self._look(desk, stopping)
        except OSError as error:
            where = f"{self._settings.monitor.address}:{self._settings.monitor.port}"
            raise UserError(f"the page cannot be served at {where}: {error.strerror}") from None
        finally:
            endpoint.withdraw(self._settings)
            self._ready = False
            stopping.set()
            await server.stop()
            await following
            await looking.close()

    async def _look(self, desk: Desk, stopping: asyncio.Event) -> None:
        every, failures = self._settings.monitor.look_every, 0
        while not stopping.is_set():
            wait = every
            try:
                await self._look_once(desk)
                failures = 0
            except RetryLater as error:
                failures += 1
                wait = min(every * 2 ** min(failures, 10), LONGEST_WAIT)
                emit(LookFailed(failures, wait.total_seconds(), str(error)))
            self._looks += 1
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), wait.total_seconds())

    async def _look_once(self, desk: Desk) -> None:
        look = await desk.looking.look()
        picture = self._picture
        picture.observe(look, asyncio.get_running_loop().time())
        if self._looks % round(max(BUSY_EVERY / self._settings.monitor.look_every, 1)) == 0:
            desk.busy = await desk.looking.busy(look.beats, "", BUSY_HOSTS)
        orders = [order for _, order in self._control.ordered()]
        desk.findings = diagnose(Case(look, picture, self._hosts, desk.busy, self._letters, orders))
        self._ready = True
        emit(looked(look, picture, desk.findings))

    def ready(self) -> bool:
        """Whether it has seen the pipeline."""
        return self._ready

    def progress(self) -> Progress:
        """Looks, successful or not: Kafka being away is no reason to start the monitor again."""
        return Progress(self._looks, waiting=True)

    def partitions(self) -> list[int]:
        """None: it is in no group."""
        return []

    def counts(self) -> Mapping[str, int]:
        """What it knows of."""
        return {"looks": self._looks, "known_hosts": len(self._hosts)}

    def positions(self) -> Mapping[str, int]:
        """None."""
        return {}


def looked(look: Look, picture: Picture, findings: Sequence[Finding]) -> Looked:
    """A look as metrics: what is no longer there is told as nothing, since a series that stays would go on lying."""
    topics: Counter[str] = Counter()
    for place, end in look.offsets.ends.items():
        topics[place[0]] += end - look.offsets.starts.get(place, 0)
    states = [(beat.stage, picture.state(beat, look.at), beat.ready) for beat in look.beats]
    workers = Counter({(stage, state.value): 0 for stage in STAGES for state in (State.ALIVE, State.LATE)})
    workers.update((stage, state.value) for stage, state, _ in states)
    takes_work = {stage for stage, state, ready in states if ready and state is State.ALIVE}
    quantiles = {"0.5": "fetch_to_row_p50_ms", "0.95": "fetch_to_row_p95_ms", "0.99": "fetch_to_row_p99_ms"}
    return Looked(
        at_s=look.at.timestamp(),
        lag={group: look.offsets.lag(group) for group in look.offsets.groups},
        members={name: len(group.members) for name, group in look.groups.items()},
        workers=workers,
        records=topics,
        frontier=picture.points[-1].frontier,
        findings=counts(findings),
        disk_free=look.disk_free,
        fetch_to_row_s={
            quantile: max((beat.counts.get(figure, 0) for beat in look.beats), default=0) / 1000
            for quantile, figure in quantiles.items()
        },
        available=set(STAGES) <= takes_work,
    )


def policy_of(settings: Settings) -> Policy:
    """Who may ask. Raises :class:`UserError` when others could reach the page and no token is set."""
    options = settings.monitor
    token, was_set = endpoint.token_of(settings)
    on_loopback = is_loopback(options.address)
    if not on_loopback and not was_set:
        raise UserError(
            f"monitor.address {options.address} can be reached from elsewhere: set monitor.token or monitor.token_file"
        )
    names = {name.lower() for name in (*options.hosts_allowed, options.address)}
    return Policy(token, names, open_reading=on_loopback)
