"""From looks to rates, latencies and graphs."""

import math
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from monitor_looks import NOW, World, beat, series

from infra.telemetry.exposition import Series, read
from monitor.picture import State
from monitor.rates import Increases, quantile
from schemas.outcomes import Outcome


def test_what_was_counted_before_anybody_looked_has_no_rate() -> None:
    """The first look shows no flood of all that happened before it; the next shows what happened since."""
    world = World()
    world.fetched(Outcome.OK, 1_000_000)
    world.look()
    assert world.picture.rate("fetches") == 0
    world.fetched(Outcome.OK, 8)
    world.fetched(Outcome.TIMEOUT, 2)
    world.fetched(Outcome.CLIENT_ERROR, 10)
    world.look()
    assert world.picture.rate("fetches") == 10
    assert world.picture.rate("pages") == 4
    assert world.picture.rate("errors") == 1


def test_a_worker_that_began_anew_takes_nothing_back() -> None:
    """A counter that fell counts from nothing; a worker that is new counts whole; one that is gone is forgotten."""
    counted = Series("x_total")
    increases = Increases()
    increases.observe({"a": {counted: 100.0}})
    assert increases.observe({"a": {counted: 7.0}})[counted] == 7
    assert increases.observe({"a": {counted: 7.0}, "b": {counted: 3.0}})[counted] == 3
    increases.observe({"b": {counted: 3.0}})
    assert increases.observe({"a": {counted: 9.0}, "b": {counted: 3.0}})[counted] == 2
    increases.forget({"b"})
    assert increases.observe({"a": {counted: 9.0}, "b": {counted: 3.0}})[counted] == 9


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 1e6)), min_size=1, max_size=30))
def test_nothing_ever_decreases(seen: list[tuple[str, float]]) -> None:
    """Whatever workers come, go and begin anew, no increase is negative."""
    increases = Increases()
    for worker, value in seen:
        assert all(by >= 0 for by in increases.observe({worker: {Series("x_total"): value}}).values())


def test_latency_is_that_of_the_last_minute() -> None:
    """Percentiles come from what the histograms grew by, and what is older than a minute no longer counts."""
    world = World()

    def took(bound: str, by: int) -> None:
        for le in ("0.1", "1", "10", "+Inf"):
            if float(le) >= float(bound):
                world.count("fetchers", series("odradek_fetch_seconds_bucket", le=le, job="fetchers"), by)

    took("0.1", 1)
    world.look()
    took("0.1", 90)
    took("10", 10)
    world.look()
    newest = world.picture.points[-1]
    assert newest.p50_s is not None
    assert newest.p95_s is not None
    assert 0.05 < newest.p50_s < 0.1
    assert 1 < newest.p95_s < 10
    world.look(times=35)
    assert world.picture.points[-1].p95_s is None


@given(st.floats(0, 1), st.lists(st.integers(0, 1_000), min_size=1, max_size=10))
def test_a_quantile_lies_within_the_buckets(share: float, counts: list[int]) -> None:
    """It is None without observations, else between nothing and the highest bound; a larger share is never less."""
    bounds = [*range(1, len(counts)), math.inf]
    total, cumulated = 0, {}
    for bound, count in zip(bounds, counts, strict=True):
        total += count
        cumulated[bound] = float(total)
    found = quantile(share, cumulated)
    assert (found is None) == (total == 0)
    if found is not None:
        assert 0 <= found <= max([0, *bounds[:-1]])
        assert found <= (quantile(1.0, cumulated) or 0) + 1e-9


def test_the_picture_is_bounded() -> None:
    """However long it looks, it keeps the history that the settings ask for."""
    world = World(history=timedelta(seconds=20))
    world.look(times=1_000)
    assert len(world.picture.points) == 11


def test_the_frontier_is_summed_over_its_workers() -> None:
    """Figures of a crawl add up over workers, and crawls with slashes in no name stay apart from what is over all."""
    world = World()
    world.beats["frontier"] = beat("frontier", {"queued": 3, "crawl/a.b-1/queued": 3, "crawl/a.b-1/pages": 1})
    world.beats["other"] = beat("frontier", {"queued": 4, "crawl/a.b-1/queued": 4})
    world.look()
    assert world.picture.points[-1].frontier == {"queued": 7}
    assert world.picture.crawls == {"a.b-1": {"queued": 7, "pages": 1}}


def test_silence_is_late_before_it_is_gone() -> None:
    """A worker is late after 30 s and gone after 90 s, as the settings say by default."""
    picture = World().picture
    states = [picture.state(beat("sinks", silent=timedelta(seconds=s)), NOW) for s in (0, 29, 30, 89, 90)]
    assert states == [State.ALIVE, State.ALIVE, State.LATE, State.LATE, State.GONE]


def test_an_exposition_is_read_with_its_labels() -> None:
    """Samples are found by name and labels in any order; a bucket's bound is a label like others."""
    text = '# TYPE a histogram\na_bucket{le="0.5",z="1"} 3\na_bucket{z="1",le="+Inf"} 4\na_count{z="1"} 4\n'
    found = read(text)
    assert found[series("a_bucket", z="1", le="+Inf")] == 4
    assert series("a_bucket", le="0.5", z="1").label("le") == "0.5"
    assert series("a_bucket").label("le") == ""
