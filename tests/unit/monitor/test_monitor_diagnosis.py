"""What the page says is wrong."""

from datetime import UTC, datetime, timedelta

from monitor_looks import NOW, World, beat, busy, fetch, letter, series

from monitor.diagnosis import diagnose
from monitor.findings import KINDS, Case, Finding, counts
from monitor.hosts import HostTable
from monitor.letters import KEPT, Letters
from schemas.orders import Action, Order, Subject
from schemas.outcomes import Outcome


def found(case: Case) -> dict[str, Finding]:
    """What is found, by kind."""
    return {finding.kind: finding for finding in diagnose(case)}


def test_a_healthy_pipeline_has_nothing_wrong() -> None:
    """With all stages alive, work done and little waiting, nothing is found."""
    world = World()
    world.look()
    for _ in range(40):
        world.fetched(Outcome.OK, 10)
        world.look()
    assert found(world.case()) == {}


def test_a_missing_stage_is_named_with_its_consequence() -> None:
    """A stage without a living worker is severe, also when its last worker is merely late."""
    world = World()
    del world.beats["streams"]
    world.beats["sinks"] = beat("sinks", silent=timedelta(seconds=40))
    findings = diagnose(world.case())
    assert [(each.kind, each.title) for each in findings] == [
        ("stage_missing", "No worker of streams lives"),
        ("stage_missing", "No worker of sinks lives"),
        ("worker_late", "sinks-1 has been silent for 40 s"),
    ]
    assert "pages become no documents" in findings[0].text


def test_a_dead_sink_is_told_by_its_retries_and_its_lag() -> None:
    """Retries with lag name the store; retries of another stage, or without lag, do not."""
    world = World()
    world.look()
    world.count("streams", series("odradek_retries_total", stage="streams.pages", job="streams"), 5)
    world.behind = {"odradek-sink-clickhouse": 1_200}
    assert "sink_down" not in found(world.case())
    world.count("sinks", series("odradek_retries_total", stage="clickhouse-documents", job="sinks"), 3)
    told = found(world.case())["sink_down"]
    assert told.severe
    assert told.title == "A store takes no rows: clickhouse (1,200 records behind)"
    world.behind = {}
    assert "sink_down" not in found(world.case())


def test_a_poisoned_topic_is_named() -> None:
    """Dead letters of the last five minutes are told by topic with their reasons; older ones are history."""
    world = World()
    for number in range(3):
        world.letters.add(letter(number, "seeds"), 0, number)
    world.letters.add(letter(9, "pages", NOW - timedelta(minutes=6)), 0, 9)
    told = found(world.case())["dead_letters"]
    assert told.title == "3 records of topic seeds could not be used"
    assert "undecodable (3)" in told.text
    assert told.view == "dead-letters?topic=seeds"


def test_a_host_that_holds_the_work_is_named_with_the_reason() -> None:
    """It is slow, in trouble, or merely polite, and each is said differently; a few URLs mean nothing."""
    world = World()
    world.busy = [busy("slow.test", 900), busy("b.test", 50)]
    polite = found(world.case())["one_host"]
    assert "its delay of 1 s allows no more than 1.0 requests a second" in polite.text
    assert "(95%)" in polite.text
    for _ in range(5):
        world.hosts.add(fetch("slow.test", took=timedelta(seconds=8)))
    assert "it takes 8.0 s to answer" in found(world.case())["one_host"].text
    world.busy = [busy("bad.test", 900, failures=4)]
    assert "in trouble 4 times in a row" in found(world.case())["one_host"].text
    world.busy = [busy("slow.test", 10)]
    assert "one_host" not in found(world.case())
    world.busy = [busy("slow.test", 50), busy("b.test", 50)]
    assert "one_host" not in found(world.case())


def test_standstill_is_told_unless_it_was_ordered() -> None:
    """A minute without a fetch while URLs wait is severe; where somebody paused, the pause is told instead."""
    world = World()
    world.beats["frontier"] = beat("frontier", {"queued": 5})
    world.look(times=20)
    assert "no_progress" not in found(world.case())
    world.look(times=40)
    case = world.case()
    assert found(case)["no_progress"].severe
    order = Order(
        action=Action.PAUSE, subject=Subject.CRAWL, target="c", reason="lunch", by="me", ordered_at=datetime.now(UTC)
    )
    paused = found(Case(case.look, case.picture, case.hosts, case.busy, case.letters, [order]))
    assert "no_progress" not in paused
    assert "lunch" in paused["paused"].text


def test_errors_lag_trouble_and_disk_are_told() -> None:
    """Each has its threshold: 5 % of fetches, growth in a minute, several hosts, a tenth of the disk."""
    world = World()
    world.look()
    world.fetched(Outcome.OK, 90)
    world.fetched(Outcome.SERVER_ERROR, 10)
    world.busy = [busy("a.test", 5, failures=3), busy("b.test", 5, failures=7)]
    world.look(times=12)
    world.behind = {"odradek-streams": 500}
    world.disk_free = {"data": 0.05}
    told = found(world.case())
    assert told["error_rate"].title == "10% of the fetches fail"
    assert told["lag_growing"].title == "odradek-streams falls behind"
    assert told["hosts_in_trouble"].title == "2 hosts in trouble: a.test, b.test"
    assert told["disk"].title == "5% of the disk of data is free"


def test_every_kind_has_a_count() -> None:
    """What is no longer found falls to nothing instead of vanishing."""
    assert counts([]) == dict.fromkeys(KINDS, 0)


def test_the_table_of_hosts_is_bounded_and_finds() -> None:
    """It forgets those not heard of longest, finds by any part of a name and counts what is an error."""
    hosts = HostTable(100)
    for number in range(1_000):
        hosts.add(fetch(f"h{number}.test"))
    assert len(hosts) == 100
    assert hosts.get("h899.test") is None
    hosts.add(fetch("h950.test", Outcome.TIMEOUT))
    [only] = hosts.found("h950", 10)
    assert (only.fetches, only.pages, only.errors) == (2, 1, 1)
    assert hosts.found("", 1) == [only]


def test_a_letter_that_was_written_twice_counts_once() -> None:
    """A repeat after a crash folds by its id, and the newest thousand are kept."""
    letters = Letters()
    for number in (1, 1, 2):
        letters.add(letter(number), 0, number)
    assert letters.by_kind["streams.pages", "pages", "undecodable"] == 2
    assert [each.letter.letter_id for each in letters.newest(5)] == ["2", "1"]
    for number in range(3, KEPT + 10):
        letters.add(letter(number), 0, number)
    assert len(letters.newest(10 * KEPT)) == KEPT
    assert letters.found(["2", str(KEPT)]) == [letters.newest(10)[9]]
