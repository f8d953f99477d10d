"""From counters that only grow, and begin anew with each process, to what happened between two looks. Pure."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from infra.telemetry.exposition import Series
from monitor.look import Samples
from schemas.outcomes import Outcome

WELL = frozenset(
    {
        Outcome.OK,
        Outcome.NOT_MODIFIED,
        Outcome.REDIRECT,
        Outcome.BAD_REDIRECT,
        Outcome.CLIENT_ERROR,
        Outcome.BLOCKED_ADDRESS,
        Outcome.SKIPPED,
    }
)
"""Outcomes that are an answer, or our own decision; every other is an error of a host or of the way to it."""


@dataclass
class Increases:
    """Remembers each worker's counters."""

    _before: dict[str, Samples] = field(default_factory=dict)

    def observe(self, samples: Mapping[str, Samples]) -> Mapping[Series, float]:
        """By how much each counter grew since the last call, over all workers.

        A worker that is new has grown from nothing, unless this is the first call: what happened before anybody looked
        has no time. A counter that fell belongs to a process that began anew under the same name.
        """
        first = not self._before
        grown: defaultdict[Series, float] = defaultdict(float)
        for worker, now in samples.items():
            before = self._before.get(worker, now if first else {})
            for series, value in now.items():
                if series.name.endswith(("_total", "_bucket")):
                    was = before.get(series, 0.0)
                    grown[series] += value - was if value >= was else value
        # One that did not answer once keeps its counters: what it did meanwhile is not lost.
        self._before = {**self._before, **samples}
        return grown

    def forget(self, living: set[str]) -> None:
        """Drop workers that are gone."""
        self._before = {worker: samples for worker, samples in self._before.items() if worker in living}


FIGURES: Mapping[str, Callable[[Series], bool]] = {
    "fetches": lambda series: series.name == "odradek_fetches_total",
    "pages": lambda series: series.name == "odradek_fetches_total" and series.label("outcome") == Outcome.OK,
    "errors": lambda series: series.name == "odradek_fetches_total" and series.label("outcome") not in WELL,
    "bytes": lambda series: series.name == "odradek_fetched_bytes_total",
    "documents": lambda series: series.name == "odradek_pages_cleaned_total",
    "rows": lambda series: series.name == "odradek_sink_rows_total" and series.label("table") == "documents",
    "retries": lambda series: series.name == "odradek_retries_total",
    "sink_retries": lambda series: (
        series.name == "odradek_store_unreachable_total"
        or (series.name == "odradek_retries_total" and series.label("job") == "sinks")
    ),
    "dead_letters": lambda series: series.name == "odradek_dead_letters_total",
    "cpu_s": lambda series: series.name == "process_cpu_seconds_total",
}
"""Which counters make each figure."""


def figures(grown: Mapping[Series, float]) -> dict[str, float]:
    """Every figure of :data:`FIGURES`."""
    return {name: sum(by for series, by in grown.items() if counts(series)) for name, counts in FIGURES.items()}


Buckets = Mapping[float, float]


def buckets(grown: Mapping[Series, float], name: str) -> Buckets:
    """How many observations of histogram ``name`` were at most each bound."""
    found: defaultdict[float, float] = defaultdict(float)
    for series, by in grown.items():
        if series.name == f"{name}_bucket":
            found[float(series.label("le"))] += by
    return found


def quantile(share: float, counts: Buckets) -> float | None:
    """The value that ``share`` of the observations do not exceed, as Prometheus estimates it; ``None`` without any.

    In the last bucket, which has no upper bound, it is the highest bound that there is.
    """
    bounds = sorted(counts)
    total = counts[bounds[-1]] if bounds else 0.0
    if not total:
        return None
    wanted, lower, below = share * total, 0.0, 0.0
    for bound in bounds:
        if counts[bound] >= wanted:
            if math.isinf(bound):
                return lower
            inside = counts[bound] - below
            return lower + (bound - lower) * ((wanted - below) / inside if inside else 1.0)
        lower, below = bound, counts[bound]
    return lower
