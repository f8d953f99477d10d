"""The autoscaler's numbers, as they are deployed: workers follow work, do not flap, sleep when nothing is due."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from tests.deployment.autoscaler import Autoscaler, Rules, Workers, during, rules, simulate, turns
from tests.deployment.rendered import named, render

FETCHER = Workers(each_s=40.0)
"""64 requests under way at a time, each 1.6 s until it is fetched and committed."""
STREAM = Workers(each_s=25.0, under_way_s=2.0)
"""A batch of 50 pages at a time, and its commit."""
RECORDED = Path(__file__).with_name("recorded_crawl.csv")
"""Requests that became due in each second of a crawl of 40 polite hosts while workers came and went."""


def of(overlay: str, stage: str) -> Rules:
    """What is deployed."""
    [document] = [each for each in render(overlay) if named(each) == f"ScaledObject/{stage}"]
    return rules(document)


def recorded() -> list[float]:
    """Arrivals a second."""
    with RECORDED.open() as file:
        return [float(row["due"]) for row in csv.DictReader(file)]


@pytest.mark.parametrize("times", [1, 4, 10])
def test_replicas_follow_a_recorded_crawl(times: int) -> None:
    """One crawl, and the same as many at once: work is done while it arrives, within the bounds, without flapping."""
    deployed = of("prod", "fetchers")
    arrivals = [each * times for each in recorded()]
    moments = simulate(Autoscaler(deployed, deployed.lowest), FETCHER, [*arrivals, *[0.0] * 1_800])
    assert turns(moments, within_s=300) == 0
    assert {each.replicas for each in moments} <= set(range(deployed.lowest, deployed.highest + 1))
    # What waits is never more than what arrives in two minutes at the busiest, and nothing is left a minute after.
    assert max(each.lag for each in moments) <= 120 * max(arrivals)
    assert moments[len(arrivals) + 60].lag == 0
    assert moments[-1].replicas == deployed.lowest


@pytest.mark.parametrize(
    ("overlay", "stage"), [("prod", "fetchers"), ("prod", "streams"), ("dev", "fetchers"), ("dev", "streams")]
)
@pytest.mark.parametrize("load", [0.3, 0.6, 0.9])
def test_steady_work_settles(overlay: str, stage: str, load: float) -> None:
    """Under work that does not change the number does not change either, once it is found, and nothing piles up."""
    deployed = of(overlay, stage)
    workers = FETCHER if stage == "fetchers" else STREAM
    arrives = load * deployed.highest * workers.each_s
    moments = simulate(Autoscaler(deployed, max(1, deployed.lowest)), workers, during(lambda _: arrives, 5_400))
    settled = moments[2_700:]
    assert turns(settled, within_s=600) == 0
    assert max(each.lag for each in settled) < 300 * arrives


def test_a_threshold_of_backlog_would_flap() -> None:
    """Some seconds of backlog as the threshold make a cycle under steady work: the simulation can tell."""
    backlog = replace(of("dev", "streams"), lag_threshold=400)
    arrives = 0.6 * backlog.highest * STREAM.each_s
    moments = simulate(Autoscaler(backlog, 1), STREAM, during(lambda _: arrives, 5_400))
    assert turns(moments[2_700:], within_s=600) > 0


@pytest.mark.parametrize("period_s", [30, 60, 120, 300])
def test_waves_do_not_make_it_flap(period_s: int) -> None:
    """Work that comes and goes faster than the slow way down is met by one number, not by many changes."""
    deployed = of("prod", "fetchers")
    busy = 0.5 * deployed.highest * FETCHER.each_s
    waves = during(lambda at_s: busy if at_s % period_s < period_s / 2 else 0.0, 3_600)
    moments = simulate(Autoscaler(deployed, deployed.lowest), FETCHER, waves)
    assert turns(moments[900:], within_s=300) == 0


def test_a_burst_is_met_within_minutes() -> None:
    """From the lowest to the highest number within five minutes, when there is work for all."""
    deployed = of("prod", "fetchers")
    moments = simulate(Autoscaler(deployed, deployed.lowest), FETCHER, during(lambda _: 5_000.0, 600))
    assert next(each.at_s for each in moments if each.replicas == deployed.highest) <= 300


@pytest.mark.parametrize("delay_s", [1, 10, 60])
def test_a_slow_host_keeps_its_fetcher(delay_s: int) -> None:
    """A crawl of one host with the longest delay that is allowed does not lose its fetcher between two pages."""
    deployed = of("dev", "fetchers")
    assert deployed.lowest == 0
    arrivals = during(lambda at_s: 1.0 if at_s % delay_s == 0 else 0.0, 1_800)
    # A request is under way for some seconds, and counts as long as its offset is not committed.
    moments = simulate(Autoscaler(deployed, 0), Workers(each_s=1 / 15), arrivals)
    first = next(each.at_s for each in moments if each.replicas)
    assert first <= 30
    assert all(each.replicas >= 1 for each in moments[int(first) :])


def test_what_has_nothing_to_do_sleeps() -> None:
    """After the cooldown the small cluster runs no worker, and one record wakes one."""
    deployed = of("dev", "streams")
    quiet = [*[20.0] * 120, *[0.0] * 1_200, 1.0, *[0.0] * 60]
    moments = simulate(Autoscaler(deployed, 0), STREAM, quiet)
    assert moments[1_300].replicas == 0
    assert moments[-1].replicas == 1


def test_cpu_counts_before_lag_shows() -> None:
    """Workers that compute all the time without a backlog become more: the larger of the two wishes counts."""
    deployed = of("prod", "streams")
    scaler = Autoscaler(deployed, deployed.lowest)
    for second in range(0, 600, 15):
        scaler.observe(float(second), lag=0.0, cpu=1.0)
    assert scaler.replicas > deployed.lowest
    without = Autoscaler(of("dev", "streams"), 1)
    for second in range(0, 600, 15):
        without.observe(float(second), lag=1.0, cpu=1.0)
    assert without.replicas == 1
