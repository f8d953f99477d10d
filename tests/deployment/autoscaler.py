"""The autoscaler as a pure function of what it sees: KEDA's wake and sleep, the horizontal autoscaler between them.

After KEDA 2.21 (activation, cooldown) and Kubernetes' HorizontalPodAutoscaler v2 (ratio with tolerance, stabilisation
windows, policies). Its numbers are those of a rendered ScaledObject: what is simulated is what is deployed.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from tests.deployment.rendered import Document

SYNC_S = 15.0
TOLERANCE = 0.1
"""The ratio of what is to what should be that changes nothing."""


class Policy(NamedTuple):
    """So many pods, or so many per cent, in a period."""

    kind: str
    value: int
    period_s: float


@dataclass(frozen=True)
class Rules:
    """Of one ScaledObject."""

    lowest: int
    highest: int
    lag_threshold: int
    cpu_target: float | None
    cooldown_s: float
    up_window_s: float
    up: tuple[Policy, ...]
    down_window_s: float
    down: tuple[Policy, ...]


def rules(document: Document) -> Rules:
    """Those of a rendered ScaledObject; of its Kafka triggers the first."""
    spec = document["spec"]
    behaviour = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    kafka = next(each["metadata"] for each in spec["triggers"] if each["type"] == "kafka")
    cpu = next((float(each["metadata"]["value"]) / 100 for each in spec["triggers"] if each["type"] == "cpu"), None)
    return Rules(
        spec["minReplicaCount"],
        spec["maxReplicaCount"],
        int(kafka["lagThreshold"]),
        cpu,
        spec["cooldownPeriod"],
        behaviour["scaleUp"]["stabilizationWindowSeconds"],
        _policies(behaviour["scaleUp"]["policies"]),
        behaviour["scaleDown"]["stabilizationWindowSeconds"],
        _policies(behaviour["scaleDown"]["policies"]),
    )


def _policies(listed: Iterable[Document]) -> tuple[Policy, ...]:
    return tuple(Policy(each["type"], each["value"], each["periodSeconds"]) for each in listed)


@dataclass
class Autoscaler:
    """Told what there is every :data:`SYNC_S`, it says how many there shall be."""

    rules: Rules
    replicas: int
    _wishes: list[tuple[float, int]] = field(default_factory=list)
    _changes: list[tuple[float, int]] = field(default_factory=list)
    _busy_at_s: float = 0.0

    def observe(self, now_s: float, lag: float, cpu: float) -> int:
        """``cpu`` is the mean use of what runs, as a share of what it asked for."""
        if lag > 0:
            self._busy_at_s = now_s
        if self.replicas == 0:
            return self._set(now_s, 1 if lag > 0 else 0)
        if self.rules.lowest == 0 and now_s - self._busy_at_s >= self.rules.cooldown_s:
            return self._set(now_s, 0)
        wish = max(self._by_lag(lag), self._by_cpu(cpu))
        wish = min(max(wish, self.rules.lowest, 1), self.rules.highest)
        self._wishes.append((now_s, wish))
        steady = self._stabilised(now_s)
        return self._set(now_s, min(max(steady, self._floor(now_s)), self._ceiling(now_s)))

    def _by_lag(self, lag: float) -> int:
        ratio = lag / (self.rules.lag_threshold * self.replicas)
        return self.replicas if abs(ratio - 1) <= TOLERANCE else math.ceil(lag / self.rules.lag_threshold)

    def _by_cpu(self, cpu: float) -> int:
        if self.rules.cpu_target is None:
            return 0
        ratio = cpu / self.rules.cpu_target
        return self.replicas if abs(ratio - 1) <= TOLERANCE else math.ceil(self.replicas * ratio)

    def _stabilised(self, now_s: float) -> int:
        """Up by the least that was wished for lately, down by the most."""
        up = min(wish for at_s, wish in self._wishes if at_s >= now_s - self.rules.up_window_s)
        down = max(wish for at_s, wish in self._wishes if at_s >= now_s - self.rules.down_window_s)
        return min(max(self.replicas, up), down)

    def _ceiling(self, now_s: float) -> int:
        return max(
            start + policy.value if policy.kind == "Pods" else math.ceil(start * (1 + policy.value / 100))
            for policy in self.rules.up
            for start in [self.replicas - self._changed(now_s, policy.period_s, up=True)]
        )

    def _floor(self, now_s: float) -> int:
        return min(
            start - policy.value if policy.kind == "Pods" else math.floor(start * (1 - policy.value / 100))
            for policy in self.rules.down
            for start in [self.replicas - self._changed(now_s, policy.period_s, up=False)]
        )

    def _changed(self, now_s: float, period_s: float, *, up: bool) -> int:
        recent = [by for at_s, by in self._changes if at_s > now_s - period_s]
        return sum(by for by in recent if (by > 0) == up)

    def _set(self, now_s: float, wanted: int) -> int:
        if wanted != self.replicas:
            self._changes.append((now_s, wanted - self.replicas))
        self.replicas = wanted
        return wanted


class Moment(NamedTuple):
    """One second of a simulation."""

    at_s: float
    replicas: int
    lag: float


class Workers(NamedTuple):
    """What one does a second, how long a new one takes to begin, and what a change costs all of them."""

    each_s: float
    under_way_s: float = 1.6
    """From when a record is taken until its offset is committed: so long it still counts as lag (Little's law)."""
    start_s: float = 20.0
    pause_s: float = 2.0


def simulate(scaler: Autoscaler, workers: Workers, arrivals: Sequence[float]) -> list[Moment]:
    """The closed loop, a second at a time: work arrives, workers do it, the autoscaler sees what is left."""
    lag, moments = 0.0, list[Moment]()
    working, paused_until_s, busy = scaler.replicas, 0.0, 0.0
    starting: list[float] = []
    taken: deque[float] = deque(maxlen=math.ceil(workers.under_way_s))
    for second, arrived in enumerate(arrivals):
        lag += arrived
        ready = [at_s for at_s in starting if at_s <= second]
        if ready:
            starting = [at_s for at_s in starting if at_s > second]
            working += len(ready)
            paused_until_s = second + workers.pause_s
        done = 0.0 if second < paused_until_s else min(lag, working * workers.each_s)
        lag -= done
        busy += done
        taken.append(done)
        seen = lag + sum(taken) * workers.under_way_s / math.ceil(workers.under_way_s)
        if second % SYNC_S == 0 and second:
            capacity = max(1, working) * workers.each_s * SYNC_S
            before, after = working + len(starting), scaler.observe(second, seen, busy / capacity)
            busy = 0.0
            starting += [second + workers.start_s] * max(0, after - before)
            if after < before:
                gone = before - after
                spare = min(gone, len(starting))
                starting = starting[: len(starting) - spare]
                working -= gone - spare
                paused_until_s = second + workers.pause_s
        moments.append(Moment(second, scaler.replicas, lag))
    return moments


def turns(moments: Sequence[Moment], within_s: float) -> int:
    """How often the number went up within so long after it went down: flapping."""
    changes = [
        (after.at_s, after.replicas - before.replicas)
        for before, after in pairwise(moments)
        if before.replicas != after.replicas
    ]
    return sum(earlier[1] < 0 < later[1] and later[0] - earlier[0] < within_s for earlier, later in pairwise(changes))


Load = Callable[[float], float]
"""Records that arrive in the second that begins then."""


def during(load: Load, seconds: int) -> list[float]:
    """The arrivals of each second."""
    return [load(float(second)) for second in range(seconds)]
