"""However many hosts are crawled, the number of series stays what it was."""

from monitor_looks import World, busy, fetch, letter
from prometheus_client import REGISTRY

from infra.telemetry.vocabulary.fetchers import ProxyBypassed, ProxyFailed, UrlFetched
from infra.telemetry.vocabulary.frontier import HostGivenUp, LeaseLost, UrlRefused
from infra.telemetry.vocabulary.running import DeadLettered
from infra.telemetry.vocabulary.streams import PageCleaned
from monitor.diagnosis import diagnose
from monitor.stage import looked
from schemas.outcomes import Outcome

HOSTS = 100_000


def series() -> int:
    """How many there are."""
    return sum(len(family.samples) for family in REGISTRY.collect())


def crawl(number: int) -> None:
    """What happens with one host, in every event that knows of a host or a URL."""
    host, url = f"h{number}.test", f"http://h{number}.test/{number}"
    UrlFetched(url, Outcome.TIMEOUT, None, None, number, 0.1, f"{host} is silent").measure()
    PageCleaned(url, number, 1, 1, 1, 1, 1, ()).measure()
    HostGivenUp(host, "host_unreachable", number).measure()
    LeaseLost(host).measure()
    UrlRefused("blocked").measure()
    ProxyBypassed(host).measure()
    ProxyFailed(f"http://{host}:1", True, f"{host} is silent").measure()
    DeadLettered("streams.pages", "bad_page", "pages", number % 64, number, url).measure()


def test_a_hundred_thousand_hosts_make_no_more_series_than_one() -> None:
    """No label holds a host, a URL, an offset or the text of an error, in the stages and in the monitor."""
    world = World()

    def seen() -> None:
        case = world.case()
        looked(case.look, world.picture, diagnose(case)).measure()

    crawl(0)
    seen()
    before = series()
    for number in range(1, HOSTS):
        crawl(number)
    for number in range(5_000):
        world.hosts.add(fetch(f"h{number}.test"))
        world.letters.add(letter(number), 0, number)
    world.busy = [busy(f"h{number}.test", number) for number in range(1_000)]
    seen()
    assert series() == before
