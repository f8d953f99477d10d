"""What becomes of a redirect."""

import pytest
from frontier_scene import Scene

from schemas.outcomes import Outcome
from schemas.records import Reason

A = "http://a.test/1"


def test_redirects_go_to_the_partition_of_their_host() -> None:
    """A redirect ends the visit; its target, in scope, is handed on with the hop counted."""
    scene = Scene()
    scene.define("c", scope="any")
    scene.admit(A, depth=2)
    scene.settle(scene.release()[0], Outcome.REDIRECT, redirect_to="https://b.test/x#y")
    [links] = scene.links
    assert (links.host, links.urls, links.hops, links.depth) == ("b.test", ["https://b.test/x"], 1, 2)
    assert (links.reason, links.parent) == (Reason.REDIRECT, A)


def test_only_a_seed_takes_its_crawl_to_another_host() -> None:
    """Within host scope a seed's redirect is followed to another host; a deeper page's is refused, with a decision."""
    scene = Scene()
    scene.admit(A, depth=0)
    scene.admit("http://b.test/", depth=1)
    for request in scene.release():
        scene.settle(request, Outcome.REDIRECT, redirect_to="http://www.test/")
    assert [links.parent for links in scene.links] == [A]
    assert [each.reason for each in scene.decisions] == ["redirect_out_of_scope"]


@pytest.mark.parametrize(
    ("location", "reason"),
    [("ftp://x.test/", "redirect_scheme"), ("http://", "redirect_malformed"), ("javascript:1", "redirect_scheme")],
)
def test_a_redirect_to_nowhere_is_told(location: str, reason: str) -> None:
    """A target that cannot be crawled becomes a decision."""
    scene = Scene()
    scene.admit(A)
    scene.settle(scene.release()[0], Outcome.REDIRECT, redirect_to=location)
    assert [each.reason for each in scene.decisions] == [reason]


def test_an_endless_redirect_ends() -> None:
    """The hop count travels with the record: after ten there is a decision, and no further URL."""
    scene = Scene(max_hops=10)
    scene.admit(A)
    with scene.step():
        scene.partition.wait(
            scene.partition.host("z.test", scene.now_s),
            scene.memory.store.some("a.test", "c", 1)[0]._replace(
                fingerprint=b"z" * 16, host="z.test", url="http://z.test/", hops=10
            ),
        )
        scene.partition.schedule(scene.partition.host("z.test", scene.now_s))
    [request] = [each for each in scene.release() if each.host == "z.test"]
    scene.settle(request, Outcome.REDIRECT, redirect_to="http://z.test/again")
    assert [each.reason for each in scene.decisions] == ["too_many_redirects"]
    assert scene.links == []
