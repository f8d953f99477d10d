"""Which hosts have work."""

import asyncio
from typing import Any, cast

from frontier_scene import Scene

from frontier.busy import busiest
from frontier.owned import Owned
from frontier.questions import Questions
from schemas.outcomes import Outcome

URLS = [f"http://big.test/{number}" for number in range(5)]


def test_those_with_most_waiting_come_first() -> None:
    """Every URL that waits is counted, any part of a name finds, the limit holds, and who has no work is left out."""
    scene = Scene()
    scene.admit(*URLS)
    scene.admit("http://small.test/1")
    told = busiest([scene.partition], "", 10, scene.now_s)
    assert [(each["host"], each["queued"]) for each in told] == [("big.test", 5), ("small.test", 1)]
    assert [each["host"] for each in busiest([scene.partition], "", 1, scene.now_s)] == ["big.test"]
    assert [each["host"] for each in busiest([scene.partition], "mall", 9, scene.now_s)] == ["small.test"]
    assert busiest([scene.partition], "elsewhere", 9, scene.now_s) == []


def test_trouble_and_its_end_are_told() -> None:
    """A host that is being asked, and one that failed, say so and how long they wait."""
    scene = Scene()
    scene.admit(*URLS)
    [request] = scene.release()
    [asked] = busiest([scene.partition], "", 9, scene.now_s)
    assert (asked["outstanding"], asked["queued"]) == (1, 4)
    scene.settle(request, Outcome.TIMEOUT)
    [failed] = busiest([scene.partition], "", 9, scene.now_s)
    assert (failed["failures"], failed["outstanding"]) == (1, 0)
    assert cast("float", failed["wait_s"]) > 0


def test_hosts_are_listed_by_the_thread_that_owns_them() -> None:
    """Over all partitions that this worker owns."""
    scene = Scene()
    scene.admit(*URLS)
    owned = Owned(scene.partition, scene.memory, cast("Any", None), {}, {}, "me")

    async def ask() -> object:
        questions = Questions()
        asked = asyncio.create_task(questions.hosts("big", 10))
        await asyncio.sleep(0)
        questions.answer({0: owned}, scene.now_s)
        return await asked

    [host] = cast("list[dict[str, object]]", asyncio.run(ask()))
    assert host["host"] == "big.test"
